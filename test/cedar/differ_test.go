// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package cedar

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// absent is the value of what is not there. A null is nil.
type absent struct{}

// field is a field that differs. Fields that can't be told apart, because they are in elements of an
// atomic list, are one.
type field struct {
	name   string
	last   *permission
	keys   [][]string // of the elements around, in their parts
	values map[*permission]values
}

// values are the old and the new values of the field that a permission with a value is at.
type values struct {
	texts   []string
	unknown bool
}

// step is a node on the way to a place, with its values in both objects.
type step struct {
	*node
	name     string
	old, new any
}

type differ struct {
	fields []*field
	// ambiguous is set if elements of a map list have one key.
	ambiguous bool
}

// differences returns the fields that differ between two objects. It returns false if they can't be told.
func (m *model) differences(old, new any) ([]*field, bool) {
	d := &differ{}
	d.visit([]step{{m.root, "", old, new}}, nil)
	return d.fields, !d.ambiguous
}

// add notes that the field at a place differs.
func (d *differ) add(path []step, keys [][]string) {
	last := path[len(path)-1].last
	named := 1
	if last != nil {
		named = last.depth
	}
	name := ""
	for _, s := range path[:min(named+1, len(path))] {
		name += fmt.Sprintf("[%q]", s.name)
	}
	i := slices.IndexFunc(d.fields, func(f *field) bool { return f.name == name })
	if i < 0 {
		i = len(d.fields)
		d.fields = append(d.fields, &field{name: name, last: last, keys: keys, values: map[*permission]values{}})
	}
	for p := last; p != nil; p = p.above {
		if p.value {
			v := d.fields[i].values[p]
			s := path[p.depth]
			more := 0
			for _, x := range []any{s.old, s.new} {
				if x == nil || x == any(absent{}) {
					continue
				}
				text, ok := valueOf(x, p.inside)
				v.unknown = v.unknown || !ok
				v.texts = append(v.texts, text)
				more++
			}
			v.unknown = v.unknown || more == 0
			d.fields[i].values[p] = v
		}
	}
}

// valueOf returns a value, or that of a field inside, as a text.
func valueOf(v any, inside string) (string, bool) {
	if inside != "" {
		object, ok := v.(map[string]any)
		if !ok {
			return "", false
		}
		if v = object[inside]; v == nil {
			return "", true
		}
	}
	text, ok := v.(string)
	return text, ok
}

// visit adds the fields at and inside a place that differ, and reports whether there are any.
func (d *differ) visit(path []step, keys [][]string) bool {
	s := &path[len(path)-1]
	inObject := len(path) > 1 && path[len(path)-2].kind == "object"
	if s.metadata && inObject {
		s.old, s.new = emptied(s.old), emptied(s.new)
	}
	if reflect.DeepEqual(s.old, s.new) {
		return false
	}
	if n := len(s.own); n > 0 && s.own[n-1].excluded && inObject && s.byDefault() {
		if above := path[:len(path)-1]; above[len(above)-1].last != nil {
			d.add(above, keys)
			return true
		}
		return false
	}
	inside := false
	to := func(n *node, name string, keyed bool, old, new any) {
		more := keys
		if keyed {
			more = append(slices.Clip(keys), s.parts(name, old, new))
		}
		if d.visit(append(slices.Clip(path), step{n, name, old, new}), more) {
			inside = true
		}
	}
	comes := there(s.old) != there(s.new)
	self := false
	switch s.kind {
	case "object":
		for _, name := range names(s.old, s.new) {
			f := s.fields[name]
			if f == nil {
				f = &node{last: s.last, metadata: s.metadata}
			}
			to(f, name, false, at(s.old, name), at(s.new, name))
		}
	case "map":
		for _, name := range names(s.old, s.new) {
			to(s.elem, name, true, at(s.old, name), at(s.new, name))
		}
	case "":
		d.add(path, keys)
		return true
	default:
		self = d.elements(path, to)
	}
	if self || comes && (!inside || len(s.own) > 0 && s.own[0].element) {
		d.add(path, keys)
		inside = true
	}
	return inside
}

// byDefault reports whether the field was absent or is absent now, and has its default otherwise.
func (s step) byDefault() bool {
	is := func(v any) bool { return s.fallback != nil && reflect.DeepEqual(v, s.fallback) }
	return s.old == any(absent{}) && is(s.new) || s.new == any(absent{}) && is(s.old)
}

func emptied(v any) any {
	if m, ok := v.(map[string]any); v == nil || ok && len(m) == 0 {
		return absent{}
	}
	if l, ok := v.([]any); ok && len(l) == 0 {
		return absent{}
	}
	return v
}

func there(v any) int {
	switch v.(type) {
	case absent:
		return 0
	case nil:
		return 1
	}
	return 2
}

func at(v any, name string) any {
	m, _ := v.(map[string]any)
	if x, ok := m[name]; ok {
		return x
	}
	return absent{}
}

func names(a, b any) []string {
	all := map[string]bool{}
	for _, v := range []any{a, b} {
		m, _ := v.(map[string]any)
		for name := range m {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}
