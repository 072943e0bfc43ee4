// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"reflect"

	"kube-granular.dev/granular/change/internal/fast"
)

var (
	identical = fast.NewBitwise(bitwiseEqual)
	exact     = fast.NewExact(exactlyEqual, identical)
	semantic  = fast.NewSemantic(semanticallyEqual)
)

// Equality gives the comparison of values of a Go type as structured-merge-diff
// compares them, and at least as strict: as strict as Compare is; a nil map or
// slice is not equal to an empty one; an int-or-string that is neither equals
// nothing, as it has no representation; and what lies in slices is compared as
// Identity does, since that package leaves slices to reflect.DeepEqual.
//
// Nor does any value of an Opaque type.
//
// The two values it is given must be of type t and addressable. It is compiled
// once for a type, may be used by any number of goroutines, and neither keeps nor
// changes what it is given. Floating-point numbers are compared bit by bit, so a
// NaN equals itself.
func Equality(t reflect.Type) func(a, b reflect.Value) bool { return compared(exact.Of(t)) }

// Identity gives the comparison of values of a Go type that is never less strict
// than reflect.DeepEqual, NaN aside: one quantity that remembers its spelling and
// one that does not are two. In all else it is like Equality.
func Identity(t reflect.Type) func(a, b reflect.Value) bool { return compared(identical.Of(t)) }

// Semantic gives the comparison of values of a Go type as equality.Semantic of
// k8s.io/apimachinery compares them: a nil map or slice equals an empty one, and quantities
// and instants count by what they stand for. It must not be used for types in which that
// finds what it has no answer for, or another one: unexported fields, interfaces,
// functions, floating-point numbers, types that lead to themselves, and types that have a
// function of their own there but for quantities, Time, MicroTime and FieldsV1.
//
// In all else it is like Equality.
func Semantic(t reflect.Type) func(a, b reflect.Value) bool { return compared(semantic.Of(t)) }

// Opaque says that values of a type write their own JSON, and that nothing is known
// here of how. Equality and Identity hold no such value equal to any, so what they
// hold equal has none in it.
func Opaque(t reflect.Type) bool { return fast.Opaque(t) }

func compared(run fast.Func) func(a, b reflect.Value) bool {
	return func(a, b reflect.Value) bool {
		return run(fast.Address(a), fast.Address(b))
	}
}
