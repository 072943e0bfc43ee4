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
//   - An IntOrString whose Type is neither Int nor String equals nothing, because it has no JSON.
//   - Elements of slices are compared like Bitwise, because structured-merge-diff
//     compares slices with reflect.DeepEqual.
//   - A value of an Opaque type equals nothing, not even itself.
//
// Two pointers, two maps, or two slices of equal length that refer to the same memory are equal
// whatever is inside, unless their own type is Opaque.
//
// Both values must be of type t and addressable. The comparison is compiled once for a type. Any
// number of goroutines may use it. It neither keeps nor changes its arguments.
// Floating-point numbers are compared bit by bit, so a NaN equals itself.
func Exact(t reflect.Type) func(a, b reflect.Value) bool { return compared(exact.Of(t)) }

// Bitwise returns a comparison for values of type t that is like Exact, but at least as strict as
// reflect.DeepEqual: a Quantity that caches its text does not equal a Quantity that does not.
// NaN is the exception: reflect.DeepEqual never finds NaN equal, and Bitwise compares its bits.
func Bitwise(t reflect.Type) func(a, b reflect.Value) bool { return compared(bitwise.Of(t)) }

// Semantic returns a comparison for values of type t that is equivalent to equality.Semantic
// of k8s.io/apimachinery: a nil map or slice equals an empty one, and quantities and times are
// compared by meaning.
//
// Semantic must not be used for types that equality.Semantic rejects or compares differently:
// types with unexported fields, interfaces, functions or floating-point numbers, recursive types,
// and types for which equality.Semantic has a function of its own. Of the latter, Quantity, Time,
// MicroTime and FieldsV1 are allowed.
//
// As for Exact, both values must be addressable, and any number of goroutines may use the
// comparison.
func Semantic(t reflect.Type) func(a, b reflect.Value) bool { return compared(semantic.Of(t)) }

// Opaque reports whether type t has a MarshalJSON method whose output this package does not know.
// For Exact and Bitwise, a value of an Opaque type equals nothing. Two values that they find equal
// contain Opaque values only in memory to which both refer.
func Opaque(t reflect.Type) bool { return fast.Opaque(t) }

// compared turns a comparison of addresses into a comparison of addressable values.
func compared(run fast.Func) func(a, b reflect.Value) bool {
	return func(a, b reflect.Value) bool {
		return run(fast.Address(a), fast.Address(b))
	}
}
