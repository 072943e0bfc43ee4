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

// Strict returns the compiler of comparisons that answer as Values does. It is for the
// walk of package change, which compares fields of a type one by one.
func Strict() *fast.Compiler { return strict }

// Exact returns the comparison of values of a Go type as structured-merge-diff
// compares them, and at least as strict. It is as strict as Values. Besides, a nil map or
// slice does not equal an empty one; an int-or-string that is neither equals
// nothing, as it has no representation; and what lies in slices is compared as
// Bitwise does, since structured-merge-diff leaves slices to reflect.DeepEqual.
// No value of an Opaque type equals any other.
//
// Both values must be of type t and addressable. The comparison is compiled
// once for a type, may be used by any number of goroutines, and neither keeps nor
// changes its arguments. Floating-point numbers are compared bit by bit, so a
// NaN equals itself.
func Exact(t reflect.Type) func(a, b reflect.Value) bool { return compared(exact.Of(t)) }

// Bitwise returns the comparison of values of a Go type that is never less strict
// than reflect.DeepEqual, NaN aside: a quantity that remembers its spelling does not equal
// one that does not. In all else it is like Exact.
func Bitwise(t reflect.Type) func(a, b reflect.Value) bool { return compared(bitwise.Of(t)) }

// Semantic returns the comparison of values of a Go type as equality.Semantic of
// k8s.io/apimachinery compares them: a nil map or slice equals an empty one, and quantities
// and instants count by what they stand for. It must not be used for types that
// equality.Semantic refuses or compares in another way: unexported fields, interfaces,
// functions, floating-point numbers, recursive types, and types that have a function of
// their own there, except quantities, Time, MicroTime and FieldsV1.
//
// In all else it is like Exact.
func Semantic(t reflect.Type) func(a, b reflect.Value) bool { return compared(semantic.Of(t)) }

// Opaque reports whether values of a type write their own JSON in a way that is not known
// here. Exact and Bitwise hold no such value equal to any other, so values that they hold
// equal contain none.
func Opaque(t reflect.Type) bool { return fast.Opaque(t) }

func compared(run fast.Func) func(a, b reflect.Value) bool {
	return func(a, b reflect.Value) bool {
		return run(fast.Address(a), fast.Address(b))
	}
}
