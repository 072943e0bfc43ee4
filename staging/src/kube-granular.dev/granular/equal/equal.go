// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equal

import (
	"reflect"

	"kube-granular.dev/granular/internal/fast"
)

var (
	strict   = fast.New(Values)
	bitwise  = fast.NewBitwise(bitwiseEqual)
	exact    = fast.NewExact(exactlyEqual, bitwise)
	semantic = fast.NewSemantic(semanticallyEqual)
)

// Strict returns a compiler whose comparisons are equivalent to Values. Package change uses the
// compiler to compare single fields of a Go type.
func Strict() *fast.Compiler { return strict }

// Exact returns a comparison for values of type t that is at least as strict as the comparison of
// structured-merge-diff. It distinguishes all that Values distinguishes, and more:
//
//   - A nil map or slice does not equal an empty one.
//   - An int-or-string whose type is neither int nor string equals nothing, because it has no
//     representation.
//   - Elements of slices are compared as Bitwise compares them, because structured-merge-diff
//     compares slices with reflect.DeepEqual.
//   - A value of an Opaque type equals nothing, not even itself.
//
// Both values must be of type t and addressable. The comparison is compiled once for a type, may
// be used by any number of goroutines, and neither keeps nor changes its arguments. Floating-point
// numbers are compared bit by bit, so a NaN equals itself.
func Exact(t reflect.Type) func(a, b reflect.Value) bool { return compared(exact.Of(t)) }

// Bitwise returns a comparison for values of a Go type that is at least as strict as
// reflect.DeepEqual, except that a NaN equals itself. For example, a quantity that has cached its
// text does not equal one that has not. What Exact says about int-or-strings, Opaque types and the
// arguments holds for Bitwise too.
func Bitwise(t reflect.Type) func(a, b reflect.Value) bool { return compared(bitwise.Of(t)) }

// Semantic returns a comparison for values of a Go type that is equivalent to equality.Semantic of
// k8s.io/apimachinery: a nil map or slice equals an empty one, and quantities and instants are
// compared by meaning. It must not be used for types that equality.Semantic refuses or compares in
// another way: unexported fields, interfaces, functions, floating-point numbers, recursive types,
// and types for which equality.Semantic has a function of its own, except quantities, Time,
// MicroTime and FieldsV1.
//
// Its arguments must be like those of Exact.
func Semantic(t reflect.Type) func(a, b reflect.Value) bool { return compared(semantic.Of(t)) }

// Opaque reports whether a type has a MarshalJSON of its own that this package does not know. Exact
// and Bitwise never find two values of such a type equal, because they don't know its JSON. They
// don't look behind pointers, slices and maps that are the same in memory on both sides.
func Opaque(t reflect.Type) bool { return fast.Opaque(t) }

// compared turns a comparison of addresses into a comparison of addressable values.
func compared(run fast.Func) func(a, b reflect.Value) bool {
	return func(a, b reflect.Value) bool {
		return run(fast.Address(a), fast.Address(b))
	}
}
