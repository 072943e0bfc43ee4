// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import "slices"

// Intersect returns the caller's own changes, for which it must be authorized: those that are in observed,
// the caller's changes before mutating admission, and in final, the changes about to be stored. A
// change that is only in final was made by admission or the server; Subtract finds those of the server. A
// change that is only in observed will not be stored.
//
// Two changes are the same if they charge the same node at the same path. An Ambiguous change
// stands for every change at or below its Extent. If the caller added or removed an empty
// container, and somebody else changed its content, the result has only the change of the
// container: the content is not the caller's change.
func Intersect(observed, final Set) Set {
	if len(observed) == 0 || len(final) == 0 {
		return nil
	}
	if sameChanges(observed, final) {
		return final.withValuesOf(observed).normalize()
	}
	x := newIndex(observed, final)
	seen := x.coverage(observed)
	var out Set
	for i := range final {
		if f := &final[i]; seen.matches(f) {
			out = append(out, *f)
			if location := x.of(f.at).first; f.HasValues() && (seen.covered[location] || !seen.charged[location]) {
				// An Ambiguous change matched, so the values that the caller sent are not known.
				out[len(out)-1].forgetValues()
			}
		}
	}
	out = append(out, x.sent(observed, out)...)
	var stored *coverage
	for i := range observed {
		if o := &observed[i]; o.Presence {
			if stored == nil {
				stored = x.coverage(final)
			}
			if stored.below(o.extent) {
				out = append(out, *o)
			}
		}
	}
	return x.sorted(out)
}

// Union returns the changes that are in a or in b. The result is sorted, and has no duplicates; a
// change that is in both has the values of both.
func Union(a, b Set) Set {
	return slices.Concat(a, b).normalize()
}

// sameChanges reports whether two sets have the same changes in the same order. The values of
// changes are not compared.
func sameChanges(a, b Set) bool {
	if len(a) != len(b) {
		return false
	}
	var known, below locationMemo
	for i := range a {
		x, y := &a[i], &b[i]
		if x.Ambiguous != y.Ambiguous || x.Presence != y.Presence || !known.same(x.at, y.at) || x.Ambiguous && !below.same(x.extent, y.extent) {
			return false
		}
	}
	return true
}

// coverage tells which locations the changes of a set are at or stand for. Its slices have one
// element for each location, at the number that the index gave the location.
type coverage struct {
	*index
	// charged is set for each location that a change of the set is charged to.
	charged []bool
	// covered is set for each location at or below the Extent of an Ambiguous change. Changes with
	// Presence do not count, because they say nothing about the content of the container.
	covered []bool
	// reaches[n] is the number of changes whose narrowest location has a number below n.
	reaches []int32
}

// coverage returns the coverage of a set whose locations are in the index.
func (x *index) coverage(s Set) *coverage {
	h := &coverage{index: x, charged: make([]bool, len(x.entries)), covered: make([]bool, len(x.entries)), reaches: make([]int32, len(x.entries)+1)}
	wholes := make([]bool, len(x.entries))
	for i := range s {
		c := &s[i]
		h.charged[x.of(c.at).first] = true
		if c.Ambiguous && !c.Presence {
			wholes[x.ids[c.extent]] = true
		}
		h.reaches[x.of(c.narrowest()).first+1]++
	}
	// An entry comes after the entry above it, so wholes[n.above] is already final.
	for id := range x.entries {
		n := &x.entries[id]
		if wholes[id] = wholes[id] || id > 0 && wholes[n.above]; wholes[id] {
			h.covered[n.first] = true
		}
		h.reaches[id+1] += h.reaches[id]
	}
	return h
}

// matches reports whether the set has a change that is the same as f, that stands for f, or that f
// stands for. Equal locations have equal nodes, so only locations are compared.
func (h *coverage) matches(f *Change) bool {
	return h.charged[h.of(f.at).first] || f.Ambiguous && h.below(f.extent) || h.covered[h.of(f.narrowest()).first]
}

// below reports whether the set has a change at or below the location p.
func (h *coverage) below(p *location) bool {
	n := h.of(p)
	return h.reaches[n.last+1] > h.reaches[n.first]
}
