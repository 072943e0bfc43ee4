// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equal

import (
	"math"
	"reflect"
)

// JSON reports whether two values of decoded JSON are equal, as strictly as Values, except that nil
// and empty maps and slices differ. Values of different Go types are equal only if both are the
// same whole number, such as an int64 and a float64. A value of a type that decoded JSON does not
// have equals nothing, not even itself.
func JSON(a, b any) bool {
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
	if x, ok := Integer(a); ok {
		y, ok := Integer(b)
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
	if SameMap(a, b) {
		return true
	}
	for k, x := range a {
		y, ok := b[k]
		// Most values are strings. Comparing them here saves a call.
		if text, is := x.(string); is {
			if other, same := y.(string); !same || text != other {
				return false
			}
		} else if !ok || !JSON(x, y) {
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
		if !JSON(a[i], b[i]) {
			return false
		}
	}
	return true
}

// SameMap reports whether a and b are the same map in memory. It returns false for nil maps.
func SameMap(a, b map[string]any) bool {
	return a != nil && reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// Integer returns a number of decoded JSON as an int64. It returns false if v is not a number, or
// not exactly an int64. For the float64 -0 it also returns false, because -0 has another
// representation than 0.
func Integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case float64:
		// 2^63 itself does not fit into an int64, and -0 has another representation than 0.
		if i := int64(v); v >= -1<<63 && v < 1<<63 && float64(i) == v && !(v == 0 && math.Signbit(v)) {
			return i, true
		}
	}
	return 0, false
}
