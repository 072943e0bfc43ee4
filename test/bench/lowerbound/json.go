// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lowerbound

// SameJSON reports whether two decoded JSON values are equal. It does the least possible work: it
// looks up each value of a in b, and does nothing else. Scalars must be strings, booleans or
// int64.
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
