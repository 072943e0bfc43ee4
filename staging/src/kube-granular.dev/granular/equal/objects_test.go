// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equal

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"kube-granular.dev/granular/internal/fast"
)

// parts are Objects for the struct zoo and its field Inner. The Object of zoo has Inner and every
// second field as a field of its own. All other fields of zoo are its remaining fields.
type parts struct {
	fields []int
	object *fast.Object
	inner  *fast.Object
}

func partsOf(odd int) parts {
	t := reflect.TypeFor[zoo]()
	in, _ := t.FieldByName("Inner")
	p := parts{inner: strict.Object(in.Type, []fast.Field{{Path: []int{0}}, {Path: []int{2}}}, [][]int{{1}})}
	var fields []fast.Field
	var rest [][]int
	for i := range t.NumField() {
		switch {
		case t.Field(i).Name == "Inner":
			p.fields, fields = append(p.fields, i), append(fields, fast.Field{Path: []int{i}, Object: p.inner})
		case i%2 == odd:
			p.fields, fields = append(p.fields, i), append(fields, fast.Field{Path: []int{i}})
		default:
			rest = append(rest, []int{i})
		}
	}
	p.object = strict.Object(t, fields, rest)
	return p
}

var zooParts = []parts{partsOf(0), partsOf(1)}

// differing returns the fields of two zoos that differ according to fast.Object, and the fields of
// Inner that differ. A field is identified by its index in the Object.
func (p parts) differing(a, b *zoo) (fields, inner map[int]bool) {
	fields, inner = map[int]bool{}, map[int]bool{}
	innerField, _ := reflect.TypeFor[zoo]().FieldByName("Inner")
	x, y, in := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), slices.Index(p.fields, innerField.Index[0])
	found, same := p.object.Same(fast.Address(x), fast.Address(y))
	if same {
		return fields, inner
	}
	for f, at := p.object.Next(fast.Address(x), fast.Address(y), 0, &found); f <= len(p.fields); f, at = p.object.Next(fast.Address(x), fast.Address(y), at, &found) {
		fields[f] = true
		if f != in {
			continue
		}
		x, y := x.FieldByName("Inner"), y.FieldByName("Inner")
		for f, at := p.inner.Next(fast.Address(x), fast.Address(y), 0, &found); f <= 2; f, at = p.inner.Next(fast.Address(x), fast.Address(y), at, &found) {
			inner[f] = true
		}
	}
	return fields, inner
}

// agreeObjects fails the test unless fast.Object finds exactly those fields of two zoos that differ
// according to Values.
func agreeObjects(t *testing.T, seed uint64, a, b *zoo) {
	t.Helper()
	p := zooParts[seed%2]
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	fields, inner := map[int]bool{}, map[int]bool{}
	for i := range x.NumField() {
		if !Values(x.Field(i), y.Field(i)) {
			at := slices.Index(p.fields, i)
			if at < 0 {
				at = len(p.fields)
			}
			fields[at] = true
		}
	}
	x, y = x.FieldByName("Inner"), y.FieldByName("Inner")
	for i, field := range []int{0, 2, 1} {
		if !Values(x.Field(field), y.Field(field)) {
			inner[i] = true
		}
	}
	gotFields, gotInner := p.differing(a, b)
	if !maps.Equal(fields, gotFields) || !maps.Equal(inner, gotInner) {
		t.Fatalf("seed %d: fields %v and %v of the inner one, not %v and %v\n%+v\n%+v", seed, gotFields, gotInner, fields, inner, a, b)
	}
}
