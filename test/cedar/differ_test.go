// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package cedar

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
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

// elements visits the elements of a list, and reports whether the list itself differs: in its length, or in
// the order of the elements that it keeps.
func (d *differ) elements(path []step, to func(n *node, name string, keyed bool, old, new any)) bool {
	s := path[len(path)-1]
	old, new := list(s.old), list(s.new)
	a, b := s.identities(old, new)
	d.ambiguous = d.ambiguous || twice(a) || twice(b)
	for i, id := range a {
		name, _, _ := strings.Cut(id, "\x00")
		if j := slices.Index(b, id); j >= 0 {
			to(s.elem, name, s.kind != "list", old[i], new[j])
		} else {
			to(s.elem, name, s.kind != "list", old[i], absent{})
		}
	}
	for j, id := range b {
		name, _, _ := strings.Cut(id, "\x00")
		if !slices.Contains(a, id) {
			to(s.elem, name, s.kind != "list", absent{}, new[j])
		}
	}
	if s.kind == "list" && s.elem.valued() == nil {
		return len(old) != len(new)
	}
	own := slices.ContainsFunc(s.elem.own, func(p *permission) bool { return !p.element })
	// A scope at the root embeds no object.
	if s.kind != "list" && own && !slices.ContainsFunc(path[1:], func(s step) bool { return s.scope }) {
		return false
	}
	kept := func(of, in []string) []string {
		return slices.DeleteFunc(slices.Clone(of), func(id string) bool { return !slices.Contains(in, id) })
	}
	return !slices.Equal(kept(a, b), kept(b, a))
}

func twice(ids []string) bool {
	sorted := slices.Sorted(slices.Values(ids))
	return len(slices.Compact(sorted)) < len(ids)
}

// valued returns a permission at a node that takes a value, or nil.
func (n *node) valued() *permission {
	for _, p := range n.own {
		if p.value {
			return p
		}
	}
	return nil
}

// identities returns what tells elements of two lists apart: the key or value, or the position in an
// atomic list, after a zero byte. If elements have a permission with a value, equal elements are one,
// and then those with the same value. Equal elements at the start and at the end are one before.
func (s step) identities(old, new []any) (a, b []string) {
	if s.kind != "list" {
		return s.keysOf(old), s.keysOf(new)
	}
	valued := s.elem.valued()
	if valued == nil {
		for i := range old {
			a = append(a, fmt.Sprintf("\x00%d", i))
		}
		for i := range new {
			b = append(b, fmt.Sprintf("\x00%d", i))
		}
		return a, b
	}
	whole := func(v any) string {
		text, _ := json.Marshal(v)
		return "\x00" + string(text)
	}
	value := func(v any) string {
		text, ok := valueOf(v, valued.inside)
		if v == nil || !ok {
			return ""
		}
		return "\x00" + text
	}
	a, b = make([]string, len(old)), make([]string, len(new))
	for i := 0; i < min(len(a), len(b)) && whole(old[i]) == whole(new[i]); i++ {
		a[i] = fmt.Sprintf("\x00start %d", i)
		b[i] = a[i]
	}
	for i := 1; i <= min(len(a), len(b)) && a[len(a)-i] == "" && b[len(b)-i] == "" && whole(old[len(a)-i]) == whole(new[len(b)-i]); i++ {
		a[len(a)-i] = fmt.Sprintf("\x00end %d", i)
		b[len(b)-i] = a[len(a)-i]
	}
	for round, same := range []func(any) string{whole, value} {
		count := [2]map[string]int{{}, {}}
		total := [2]map[string]int{{}, {}}
		number := func(l []any, ids []string, side int, assign bool) {
			for i, v := range l {
				id := same(v)
				if ids[i] != "" || id == "" {
					continue
				}
				if assign && count[side][id] < min(total[0][id], total[1][id]) {
					ids[i] = fmt.Sprintf("%s\x00%d %d", id, round, count[side][id])
					count[side][id]++
				} else if !assign {
					total[side][id]++
				}
			}
		}
		number(old, a, 0, false)
		number(new, b, 1, false)
		number(old, a, 0, true)
		number(new, b, 1, true)
	}
	for i := range a {
		if a[i] == "" {
			a[i] = fmt.Sprintf("\x00old %d", i)
		}
	}
	for i := range b {
		if b[i] == "" {
			b[i] = fmt.Sprintf("\x00new %d", i)
		}
	}
	return a, b
}

// keysOf returns the keys of elements.
func (s step) keysOf(l []any) (out []string) {
	for _, v := range l {
		if s.kind == "set" {
			out = append(out, v.(string))
			continue
		}
		var parts []any
		for _, key := range s.keys {
			part, ok := v.(map[string]any)[key]
			if !ok {
				part = s.defaults[key]
			}
			parts = append(parts, part)
		}
		if text, ok := parts[0].(string); ok && len(parts) == 1 {
			out = append(out, text)
			continue
		}
		text, _ := json.Marshal(parts)
		out = append(out, string(text))
	}
	return out
}

// parts returns the parts of the key of an element with a name.
func (s step) parts(name string, old, new any) (out []string) {
	if s.kind != "map list" {
		return []string{name}
	}
	if old == any(absent{}) {
		old = new
	}
	for _, key := range s.keys {
		part := at(old, key)
		if part == any(absent{}) {
			part = s.defaults[key]
		}
		out = append(out, fmt.Sprint(part))
	}
	return out
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
