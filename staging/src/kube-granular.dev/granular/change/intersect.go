// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strings"
)

// Intersect gives the final changes the caller has to answer for: those the
// caller made, as observed before mutating admission, and that are about to be
// stored. What is in one set alone is not the caller's, or never happened.
//
// Two changes are the same if they charge one node at one path. Where either
// side could not tell apart what happened below a place, it is taken to hold
// everything below. A container whose mere presence the caller changed, and in
// which somebody else put something, stays the caller's presence change: what
// was put there is not the caller's, that there is a place for it is.
func Intersect(observed, final Set) Set {
	if len(observed) == 0 || len(final) == 0 {
		return nil
	}
	seen := newIndex(observed)
	var out Set
	for i := range final {
		if f := &final[i]; seen.answers(f) {
			out = append(out, *f)
		}
	}
	var stored *index
	for i := range observed {
		if o := &observed[i]; o.Presence {
			if stored == nil {
				stored = newIndex(final)
			}
			if _, extent := o.ids(); stored.below(extent) {
				out = append(out, *o)
			}
		}
	}
	return out.normal()
}

type index struct {
	// places holds the ID of every path charged.
	places map[string]bool
	// wholes holds the extents that stand for all below them, presence aside.
	wholes map[string]bool
	// reaches is sorted.
	reaches []string
}

func newIndex(s Set) *index {
	x := &index{places: map[string]bool{}, wholes: map[string]bool{}}
	for i := range s {
		c := &s[i]
		id, extent := c.ids()
		x.places[id] = true
		if c.Whole && !c.Presence {
			x.wholes[extent] = true
		}
		// The narrowest place known to hold the difference.
		if c.Whole {
			id = extent
		}
		x.reaches = append(x.reaches, id)
	}
	slices.Sort(x.reaches)
	return x
}

// answers says whether a final change is among the observed ones. At one path
// there is but one node, so the path is enough.
func (x *index) answers(f *Change) bool {
	id, extent := f.ids()
	if x.places[id] || f.Whole && x.below(extent) {
		return true
	}
	if len(x.wholes) == 0 {
		return false
	}
	path := f.Path
	if f.Whole {
		path = f.Extent
	}
	var b []byte
	if x.wholes[""] {
		return true
	}
	for _, s := range path {
		if b = s.appendID(b); x.wholes[string(b)] {
			return true
		}
	}
	return false
}

// below says whether anything is charged at or below a place.
func (x *index) below(id string) bool {
	i, _ := slices.BinarySearch(x.reaches, id)
	return i < len(x.reaches) && strings.HasPrefix(x.reaches[i], id)
}
