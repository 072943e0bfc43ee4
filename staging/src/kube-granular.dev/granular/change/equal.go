// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"reflect"

	"kube-granular.dev/granular/change/internal/fast"
)

// exact makes comparisons that tell a nil from an empty map or slice.
var exact = fast.NewExact(exactlyEqual)

// Equality gives the comparison of values of a Go type by their representation:
// as strict as Compare is, and a nil map or slice is not equal to an empty one.
// An int-or-string that is neither equals nothing, as it has no representation.
// The two values it is given must be of type t and addressable. It is compiled
// once for a type, may be used by any number of goroutines, and neither keeps nor
// changes what it is given.
//
// Floating-point numbers are compared bit by bit, so a NaN equals itself.
func Equality(t reflect.Type) func(a, b reflect.Value) bool {
	run := exact.Of(t)
	return func(a, b reflect.Value) bool {
		return run(a.Addr().UnsafePointer(), b.Addr().UnsafePointer())
	}
}
