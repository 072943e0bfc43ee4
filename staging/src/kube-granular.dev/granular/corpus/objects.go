// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"maps"
	"reflect"
)

// Overlay returns base with the fields of over applied like a JSON merge patch: objects are merged,
// null removes a field, and other values, lists included, are replaced as a whole. Neither argument
// is changed.
func Overlay(base, over Object) Object {
	out, _ := overlay(map[string]any(base), map[string]any(over)).(map[string]any)
	return out
}

func overlay(base, over any) any {
	fields, ok := over.(map[string]any)
	if !ok {
		return over
	}
	below, _ := base.(map[string]any)
	out := maps.Clone(below)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range fields {
		if value == nil {
			delete(out, name)
			continue
		}
		out[name] = overlay(out[name], value)
	}
	return out
}

// Diff returns an object over for which Overlay(before, over) equals after.
func Diff(before, after Object) Object {
	out := Object{}
	for name, old := range before {
		current, kept := after[name]
		previous, wasFields := old.(map[string]any)
		fields, isFields := current.(map[string]any)
		switch {
		case !kept:
			out[name] = nil
		case wasFields && isFields:
			if below := Diff(previous, fields); len(below) > 0 {
				out[name] = map[string]any(below)
			}
		case !reflect.DeepEqual(before[name], current):
			out[name] = current
		}
	}
	for name, current := range after {
		if _, kept := before[name]; !kept {
			out[name] = current
		}
	}
	return out
}
