// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

// Intersect returns the final changes that the caller must be authorized for: those that the
// caller made, as observed before mutating admission, and that are about to be stored. A change
// that only one of the sets has is not the caller's, or never happened.
//
// Two changes are the same if they charge one node at one path. An Ambiguous change stands for
// everything below its Extent. If the caller added or removed a container, and somebody else put
// something into it, the caller is charged for the container alone: the content is not the
// caller's, its presence is.
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
				out[len(out)-1].forgetValues() // the values that the caller sent are not known
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

// sameChanges reports whether two sets are known to have the same changes, one by one.
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

// coverage describes a set by the numbers of an index.
type coverage struct {
	*index
	// charged reports for each location whether it is charged.
	charged []bool
	// covered reports for each location whether it is at or below the Extent of an Ambiguous
	// change that is more than a presence change.
	covered []bool
	// reaches counts, up to each number, the narrowest locations that are known to contain a
	// difference.
	reaches []int32
}

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
	// An entry comes after the one above it.
	for id := range x.entries {
		n := &x.entries[id]
		if wholes[id] = wholes[id] || id > 0 && wholes[n.above]; wholes[id] {
			h.covered[n.first] = true
		}
		h.reaches[id+1] += h.reaches[id]
	}
	return h
}

// matches reports whether a final change is among the observed ones. One location has one node,
// so comparing locations is enough.
func (h *coverage) matches(f *Change) bool {
	return h.charged[h.of(f.at).first] || f.Ambiguous && h.below(f.extent) || h.covered[h.of(f.narrowest()).first]
}

// below reports whether anything is charged at or below a location.
func (h *coverage) below(p *location) bool {
	n := h.of(p)
	return h.reaches[n.last+1] > h.reaches[n.first]
}
