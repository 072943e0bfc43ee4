// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equal

import (
	"math"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube-granular.dev/granular/internal/fast"
)

var (
	quantityType = reflect.TypeFor[resource.Quantity]()
	timeType     = reflect.TypeFor[time.Time]()
	intstrType   = reflect.TypeFor[intstr.IntOrString]()
)

// Values reports whether two Go values have equal representations. It defines which values are
// equal when the fields of Go types are authorized. A nil map or slice equals an empty one, because
// protobuf can't tell them apart. A nil pointer does not equal a pointer to a zero value. Two
// functions or channels are equal only if both are nil.
func Values(a, b reflect.Value) bool { return equalValues(a, b, nilEqualsEmpty) }

// strictness is how strict a comparison is. A higher value is stricter.
type strictness int

const (
	// semanticStrictness compares by meaning: the quantities 1G and 1e9 are equal.
	semanticStrictness strictness = iota
	// nilEqualsEmpty compares by representation: the quantities 1G and 1e9 differ. A nil map or
	// slice equals an empty one.
	nilEqualsEmpty
	// exactStrictness compares by representation too, but a nil map or slice does not equal an
	// empty one. Elements of slices are compared as strictly as reflect.DeepEqual compares them.
	exactStrictness
	// bitwiseStrictness distinguishes all values that reflect.DeepEqual distinguishes, except that
	// a NaN equals itself.
	bitwiseStrictness
)

func exactlyEqual(a, b reflect.Value) bool { return equalValues(a, b, exactStrictness) }

func semanticallyEqual(a, b reflect.Value) bool { return equalValues(a, b, semanticStrictness) }

func bitwiseEqual(a, b reflect.Value) bool { return equalValues(a, b, bitwiseStrictness) }

func equalValues(a, b reflect.Value, how strictness) bool {
	if a.Type() != b.Type() {
		return false
	}
	switch t := a.Type(); {
	case how > nilEqualsEmpty && fast.Opaque(t):
		return false
	case (t == quantityType || t == timeType || t == intstrType) && !a.CanInterface():
		return false
	case t == quantityType:
		return equalQuantity(read[resource.Quantity](a), read[resource.Quantity](b), how)
	case t == timeType:
		return equalTime(read[time.Time](a), read[time.Time](b), how)
	case t == intstrType && how > semanticStrictness:
		return equalIntOrString(read[intstr.IntOrString](a), read[intstr.IntOrString](b), how)
	}
	switch a.Kind() {
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return a.Uint() == b.Uint()
	case reflect.Float32, reflect.Float64:
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	case reflect.String:
		return a.String() == b.String()
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() || a.UnsafePointer() == b.UnsafePointer() {
			return a.UnsafePointer() == b.UnsafePointer()
		}
		return equalValues(a.Elem(), b.Elem(), how)
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return equalValues(a.Elem(), b.Elem(), how)
	case reflect.Struct:
		for i := range a.NumField() {
			if !equalValues(a.Field(i), b.Field(i), how) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		return equalSequence(a, b, how)
	case reflect.Map:
		return equalTypedMap(a, b, how)
	case reflect.Func, reflect.Chan:
		return a.IsNil() && b.IsNil()
	}
	return false
}

func equalSequence(a, b reflect.Value, how strictness) bool {
	if a.Len() != b.Len() || how > nilEqualsEmpty && a.Kind() == reflect.Slice && a.IsNil() != b.IsNil() {
		return false
	}
	if a.Kind() == reflect.Slice && a.UnsafePointer() == b.UnsafePointer() {
		return true
	}
	if a.Kind() == reflect.Slice && how == exactStrictness {
		how = bitwiseStrictness
	}
	for i := range a.Len() {
		if !equalValues(a.Index(i), b.Index(i), how) {
			return false
		}
	}
	return true
}

func equalTypedMap(a, b reflect.Value, how strictness) bool {
	if a.Len() != b.Len() || how > nilEqualsEmpty && a.IsNil() != b.IsNil() {
		return false
	}
	if a.UnsafePointer() == b.UnsafePointer() {
		return true
	}
	for it := a.MapRange(); it.Next(); {
		y := b.MapIndex(it.Key())
		if !y.IsValid() || !equalValues(it.Value(), y, how) {
			return false
		}
	}
	return true
}

// read returns a copy of a value. The copy is needed because a Quantity that is printed caches its
// text in itself, which must not happen to a shared object. The value must not be in an unexported
// field.
func read[T any](v reflect.Value) T {
	out, _ := reflect.TypeAssert[T](v)
	return out
}

func equalQuantity(a, b resource.Quantity, how strictness) bool {
	switch how {
	case semanticStrictness:
		return a.Cmp(b) == 0
	case bitwiseStrictness:
		return a == b
	}
	return a == b || a.String() == b.String()
}

func equalTime(a, b time.Time, how strictness) bool {
	switch how {
	case semanticStrictness:
		return a.UTC() == b.UTC() // compares instants without monotonic clock and location
	case bitwiseStrictness:
		return a == b
	}
	return a.Equal(b)
}

func equalIntOrString(a, b intstr.IntOrString, how strictness) bool {
	switch {
	case a.Type != b.Type || how == bitwiseStrictness && a != b:
		return false
	case a.Type == intstr.Int:
		return a.IntVal == b.IntVal
	case a.Type == intstr.String:
		return a.StrVal == b.StrVal
	}
	return how == nilEqualsEmpty && a == b
}
