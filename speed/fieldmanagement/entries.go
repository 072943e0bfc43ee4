// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
)

// entries has the Go types of maps from which single entries can be dropped, each with a function
// that does this for two maps. The types are those of labels, annotations, and the data of
// ConfigMaps and Secrets.
var entries = map[reflect.Type]func(a, b reflect.Value) []dropped{
	reflect.TypeFor[map[string]string](): dropEntries(func(v, w string) bool { return v == w }),
	reflect.TypeFor[map[string][]byte](): dropEntries(func(v, w []byte) bool { return (v == nil) == (w == nil) && bytes.Equal(v, w) }),
}

// dropEntries returns a function that replaces two different maps by copies without the entries
// that are equal in both, and returns the dropped entries. Each map keeps at least one entry, if
// it had any. The reason is that JSON leaves out an empty map, and that upstream would find a
// difference if only one object has the map.
func dropEntries[V any](equal func(v, w V) bool) func(a, b reflect.Value) []dropped {
	return func(x, y reflect.Value) (out []dropped) {
		a, _ := x.Interface().(map[string]V)
		b, _ := y.Interface().(map[string]V)
		for k, v := range a {
			if w, ok := b[k]; ok && equal(v, w) {
				out = append(out, dropped{name: k})
			}
		}
		slices.SortFunc(out, func(p, q dropped) int { return strings.Compare(p.name, q.name) })
		if len(out) == len(a) || len(out) == len(b) {
			out = out[min(1, len(out)):]
		}
		if len(out) == 0 {
			return nil
		}
		x.Set(reflect.ValueOf(remaining(a, out)))
		y.Set(reflect.ValueOf(remaining(b, out)))
		return out
	}
}

// remaining returns a copy of a without the dropped entries.
func remaining[V any](a map[string]V, out []dropped) map[string]V {
	left := make(map[string]V, len(a)-len(out))
	for k, v := range a {
		if _, ok := slices.BinarySearchFunc(out, k, func(d dropped, k string) int { return strings.Compare(d.name, k) }); !ok {
			left[k] = v
		}
	}
	return left
}
