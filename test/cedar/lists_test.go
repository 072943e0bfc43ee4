// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package cedar

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

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
