// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rule

import "slices"

// identities returns what identifies each element of a list: its key, its value in a set, and nothing in an
// atomic list.
func identities(f *Field, l []any) []string {
	out := make([]string, len(l))
	for i, v := range l {
		if f.Kind == MapList {
			v = get(v, f.Key)
		}
		if f.Kind != List {
			out[i], _ = v.(string)
		}
	}
	return out
}

// ambiguous reports whether two elements of a map list, in the old or in the new one, have the same key.
func (s Step) ambiguous() bool {
	twice := func(v any) bool {
		ids := identities(s.Field, list(v))
		slices.Sort(ids)
		return len(slices.Compact(ids)) < len(list(v))
	}
	return s.Field.Kind == MapList && (twice(s.Old) || twice(s.New))
}

// valued returns the permission of a field that takes a value of the field, or nil.
func (f *Field) valued() *Permission {
	if i := slices.IndexFunc(f.Permissions, func(p Permission) bool { return p.FromValue }); i >= 0 {
		return &f.Permissions[i]
	}
	return nil
}

// counterparts returns for each old element of a list the position of its counterpart in the new list, and
// -1 if it has none. In a map list or set this is the element with the same identity. In an atomic list,
// and in a map list whose elements can't be told apart, it is the element at the same position, if its
// identity is the same. If elements have a permission that takes a value, it is an equal element or else
// one with the same value; equal elements at the start and at the end of both lists are counterparts first.
func (s Step) counterparts() []int {
	old, new := list(s.Old), list(s.New)
	a, b := identities(s.Field, old), identities(s.Field, new)
	valued := s.Field.Kind == List && s.Field.Elem.valued() != nil
	alike := []func(i, j int) bool{func(i, j int) bool { return a[i] == b[j] && (s.Field.Kind == Set || i == j) }}
	switch {
	case valued:
		inside := s.Field.Elem.valued().Inside
		first, behind := ends(old, new)
		alike[0] = func(i, j int) bool { return i == j && i < first || len(old)-i == len(new)-j && len(old)-i <= behind }
		alike = append(alike, func(i, j int) bool { return equal(old[i], new[j]) }, func(i, j int) bool {
			x, okX := Step{Old: old[i], New: Absent{}}.values(inside)
			y, okY := Step{Old: new[j], New: Absent{}}.values(inside)
			return okX && okY && len(x) > 0 && slices.Equal(x, y)
		})
	case s.Field.Kind == MapList && !s.ambiguous():
		alike[0] = func(i, j int) bool { return a[i] == b[j] }
	}
	out, taken := slices.Repeat([]int{-1}, len(old)), make([]bool, len(new))
	for _, same := range alike {
		for i := range old {
			for j := range new {
				if out[i] < 0 && !taken[j] && same(i, j) {
					out[i], taken[j] = j, true
				}
			}
		}
	}
	return out
}

// ends returns how many elements are equal at the start of two lists, and of the others at the end.
func ends(old, new []any) (first, behind int) {
	short := min(len(old), len(new))
	for first < short && equal(old[first], new[first]) {
		first++
	}
	for behind < short-first && equal(old[len(old)-1-behind], new[len(new)-1-behind]) {
		behind++
	}
	return first, behind
}

// pairs calls to with the identity of each element, and with its old and its new value.
func (s Step) pairs(to func(id string, old, new any)) {
	old, new, partner := list(s.Old), list(s.New), s.counterparts()
	a, b := identities(s.Field, old), identities(s.Field, new)
	for i, j := range partner {
		if j < 0 {
			to(a[i], old[i], Absent{})
		} else {
			to(a[i], old[i], new[j])
		}
	}
	for j := range new {
		if !slices.Contains(partner, j) {
			to(b[j], Absent{}, new[j])
		}
	}
}

// reordered reports whether the order of a list differs, apart from elements that were added or removed. It
// does not count if each element has a permission of its own, unless the list is in an embedded object.
func (p Place) reordered() bool {
	s := p[len(p)-1]
	f := s.Field
	if f.Kind != MapList && f.Kind != Set && f.Kind != List {
		return false
	}
	own := slices.ContainsFunc(f.Elem.Permissions, func(p Permission) bool { return !p.Element })
	if f.Kind != List && own && !slices.ContainsFunc(p, func(s Step) bool { return s.Field.Scope }) {
		return false
	}
	kept := slices.DeleteFunc(s.counterparts(), func(j int) bool { return j < 0 })
	return !slices.IsSorted(kept)
}
