// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"math"
	"reflect"
)

// SameJSON says whether two values of decoded JSON are the same, as strictly as Compare
// does: maps, slices, texts, flags, numbers and nil; nothing else is the same as anything.
func SameJSON(a, b any) bool { return equalPlain(a, b) }

// equalPlain compares decoded JSON strictly. The only two representations of one
// thing are a whole number as int64 and as float64. A value of any other type is
// different from everything: what isn't known can't be held equal.
func equalPlain(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMap(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && equalList(a, b)
	}
	if x, ok := integer(a); ok {
		y, ok := integer(b)
		return ok && x == y
	}
	x, ok := a.(float64)
	y, ok2 := b.(float64)
	return ok && ok2 && math.Float64bits(x) == math.Float64bits(y)
}

func equalMap(a, b map[string]any) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	if sameMap(a, b) {
		return true
	}
	for k, x := range a {
		y, ok := b[k]
		// Most values are text, for which a call would cost as much as they do.
		if text, is := x.(string); is {
			if other, is := y.(string); !is || text != other {
				return false
			}
		} else if !ok || !equalPlain(x, y) {
			return false
		}
	}
	return true
}

func equalList(a, b []any) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	if len(a) > 0 && &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if !equalPlain(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameMap(a, b map[string]any) bool {
	return a != nil && reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// integer gives a number that is whole and exactly an int64.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case float64:
		// 2^63 itself is no int64; -0 is not the same representation as 0.
		if i := int64(v); v >= -1<<63 && v < 1<<63 && float64(i) == v && !(v == 0 && math.Signbit(v)) {
			return i, true
		}
	}
	return 0, false
}
