// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

// Intersect returns the final changes that the caller must be authorized for: those that the
// caller made, as observed before mutating admission, and that are about to be stored. A change
// that is only final was made by admission or the server, and a change that is only observed is
// not stored.
//
// Two changes are the same if they charge the same node at the same path. An Ambiguous change
// stands for every change below its Extent. If the caller added or removed an empty container, and
// somebody else changed its content, the result has only the change of the container: the content
// is not the caller's change.
func Intersect(observed, final Set) Set {
	if len(observed) == 0 || len(final) == 0 {
		return nil
	}
	if sameChanges(observed, final) && final.ordered() {
		return final.withValuesOf(observed)
	}
	x := newIndex(observed, final)
	seen := x.coverage(observed)
	var out Set
	for i := range final {
		if f := &final[i]; seen.matches(f) {
			out = append(out, *f)
			if at := x.of(f.at).first; f.HasValues() && (seen.covered[at] || !seen.charged[at]) {
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

// sameChanges reports whether two sets are known to have the same changes in the same order.
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

// coverage records which locations a set of changes covers. Its slices are indexed by the numbers
// of an index.
type coverage struct {
	*index
	// charged is set for each location that a change of the set is charged to.
	charged []bool
	// covered is set for each location at or below the Extent of an Ambiguous change that is not a
	// Presence change.
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

// matches reports whether the set has a change that is the same as f, or that stands for f. Equal
// locations have equal nodes, so it compares only locations.
func (h *coverage) matches(f *Change) bool {
	return h.charged[h.of(f.at).first] || f.Ambiguous && h.below(f.extent) || h.covered[h.of(f.narrowest()).first]
}

// below reports whether the set has a change at or below a location.
func (h *coverage) below(p *location) bool {
	n := h.of(p)
	return h.reaches[n.last+1] > h.reaches[n.first]
}
