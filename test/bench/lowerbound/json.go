// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lowerbound

// SameJSON is what there is no less of for decoded JSON: each value of one side is looked up
// in the other. It knows texts, flags and whole numbers, and takes the number of fields for
// granted.
func SameJSON(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if !SameJSON(v, b[k]) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !SameJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}
