// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fast

import (
	"reflect"
	"slices"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// mapping returns a comparison for a map type. If the keys are of a string kind and the values are
// strings, quantities, or slices of bytes or strings, the map is read as a map with keys of type
// string. This works for a named string type too, because its hash and its layout in memory are
// those of string. All other maps are compared by the reference.
func (c *Compiler) mapping(t reflect.Type) Func {
	if t.Key().Kind() == reflect.String && !(c.exact && Opaque(t.Elem())) {
		switch elem := t.Elem(); {
		case elem.Kind() == reflect.String:
			exact := c.exact
			return func(a, b unsafe.Pointer) bool {
				x, y := *(*map[string]string)(a), *(*map[string]string)(b)
				return (!exact || (x == nil) == (y == nil)) && equalTexts(x, y)
			}
		case elem == quantityType:
			return maps(c.exact, func(a, b resource.Quantity) bool { return a == b || !c.bitwise && c.quantity(a, b) })
		case elem.Kind() == reflect.Slice && elem.Elem().Kind() == reflect.Uint8:
			return maps(c.exact, c.equalBytes)
		case elem.Kind() == reflect.Slice && elem.Elem().Kind() == reflect.String:
			return maps(c.exact, c.equalStrings)
		}
	}
	byReference := c.byReference(t)
	return func(a, b unsafe.Pointer) bool {
		x, y := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
		return x == y || byReference(a, b)
	}
}

func (c *Compiler) equalBytes(a, b []byte) bool {
	return string(a) == string(b) && (!c.exact || (a == nil) == (b == nil))
}

func (c *Compiler) equalStrings(a, b []string) bool {
	return slices.Equal(a, b) && (!c.exact || (a == nil) == (b == nil))
}

// equalTexts reports whether two maps are equal, where nil equals empty. It exists in addition to
// the function maps because most maps are of strings, and equalTexts is faster for them.
func equalTexts(x, y map[string]string) bool {
	if len(x) != len(y) {
		return false
	}
	if *(*unsafe.Pointer)(unsafe.Pointer(&x)) == *(*unsafe.Pointer)(unsafe.Pointer(&y)) {
		return true
	}
	for k, v := range x {
		if w, ok := y[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// maps returns a comparison for maps with string keys, given a comparison for the values. If exact
// is true, a nil map differs from an empty one.
func maps[V any](exact bool, equal func(a, b V) bool) Func {
	return func(a, b unsafe.Pointer) bool {
		if *(*unsafe.Pointer)(a) == *(*unsafe.Pointer)(b) {
			return true
		}
		x, y := *(*map[string]V)(a), *(*map[string]V)(b)
		if len(x) != len(y) || exact && (x == nil) != (y == nil) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !equal(v, w) {
				return false
			}
		}
		return true
	}
}

// DifferingKeys returns the keys whose values differ between the maps at two addresses, and the
// keys that only one of the maps has. Keys and values of both maps must be of a string kind.
func DifferingKeys(a, b unsafe.Pointer) []string {
	x, y := *(*map[string]string)(a), *(*map[string]string)(b)
	var out []string
	for k, v := range x {
		if w, ok := y[k]; !ok || v != w {
			out = append(out, k)
		}
	}
	for k := range y {
		if _, ok := x[k]; !ok {
			out = append(out, k)
		}
	}
	return out
}
