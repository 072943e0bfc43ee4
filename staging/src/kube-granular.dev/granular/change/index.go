// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"slices"
)

// index numbers the locations of some changes in the order of paths. Equal locations that different
// comparisons found have the same number. The locations below a location have the numbers directly
// after its number. Each location is visited once, so the work grows with the number of locations
// and keys, not with the length of their paths.
type index struct {
	// ids maps each location to its position in entries.
	ids map[*location]int32
	// entries are the distinct locations in the order in which they were added. The first entry
	// is the root.
	entries []indexEntry
}

// indexEntry is one location. The first entry is the root.
type indexEntry struct {
	// above is the position in index.entries of the location that step starts from.
	above int32
	step  *Step
	// first is the number of the location. last is the number of the last location below it, or
	// first if there is none.
	first, last int32
}

// edge identifies a location by the entry above it and the step from there.
type edge struct {
	above int32
	field string
	// key joins all keys of the step into one string. keys is how many keys are joined.
	key  string
	keys int
}

// newIndex returns an index of the locations of all changes in the given sets.
func newIndex(sets ...Set) *index {
	n := 0
	for _, set := range sets {
		n += len(set)
	}
	x := &index{ids: make(map[*location]int32, n+1), entries: make([]indexEntry, 1, n+1)}
	x.ids[nil] = 0
	known := make(map[edge]int32, n)
	for _, set := range sets {
		for i := range set {
			x.add(set[i].at, known)
			x.add(set[i].extent, known)
		}
	}
	x.number()
	return x
}

// add adds the location p and the locations above it to the index, and returns the position of p
// in entries. known has the position of each location that the index already has.
func (x *index) add(p *location, known map[edge]int32) int32 {
	if id, ok := x.ids[p]; ok {
		return id
	}
	link := edge{above: x.add(p.above, known), field: p.Field, keys: len(p.Keys)}
	if len(p.Keys) > 0 {
		link.key = identity(p.Keys)
	}
	id, ok := known[link]
	if !ok {
		id = int32(len(x.entries))
		x.entries = append(x.entries, indexEntry{above: link.above, step: &p.Step})
		known[link] = id
	}
	x.ids[p] = id
	return id
}

// number numbers the entries in the order of paths: a location comes before those below it, and
// compareSteps orders the locations directly below the same one.
func (x *index) number() {
	// below[starts[i]:starts[i+1]] are the entries directly below entry i.
	starts := make([]int32, len(x.entries)+1)
	for _, n := range x.entries[1:] {
		starts[n.above+1]++
	}
	for i := range x.entries {
		starts[i+1] += starts[i]
	}
	below, filled := make([]int32, len(x.entries)-1), slices.Clone(starts)
	for id := 1; id < len(x.entries); id++ {
		above := x.entries[id].above
		below[filled[above]] = int32(id)
		filled[above]++
	}
	next := int32(0)
	var visit func(id int32)
	visit = func(id int32) { // recursion is bounded by the depth of the tree
		n := &x.entries[id]
		n.first = next
		next++
		here := below[starts[id]:starts[id+1]]
		slices.SortFunc(here, func(a, b int32) int { return compareSteps(x.entries[a].step, x.entries[b].step) })
		for _, child := range here {
			visit(child)
		}
		n.last = next - 1
	}
	visit(0)
}

// of returns the entry of a location.
func (x *index) of(p *location) *indexEntry { return &x.entries[x.ids[p]] }

// compare orders changes by path.
func (x *index) compare(a, b *Change) int {
	if d := cmp.Compare(x.of(a.at).first, x.of(b.at).first); d != 0 {
		return d
	}
	if a.Ambiguous != b.Ambiguous {
		return order(a.Ambiguous)
	}
	if a.Ambiguous {
		if d := cmp.Compare(x.of(a.extent).first, x.of(b.extent).first); d != 0 {
			return d
		}
	}
	if a.Presence != b.Presence {
		return order(a.Presence)
	}
	return 0
}

// order returns the order of two booleans that differ: 1 if first, which is the first one, is true, and -1 if
// it is false. So false comes before true.
func order(first bool) int {
	if first {
		return 1
	}
	return -1
}

// sorted returns the set sorted and without duplicates. It places changes by the number of their
// location, and compares only changes at the same location, which are few.
func (x *index) sorted(s Set) Set {
	starts := make([]int32, len(x.entries)+1)
	numbers := make([]int32, len(s))
	for i := range s {
		numbers[i] = x.of(s[i].at).first
		starts[numbers[i]+1]++
	}
	for i := range x.entries {
		starts[i+1] += starts[i]
	}
	out, filled := make(Set, len(s)), slices.Clone(starts)
	for i, number := range numbers {
		out[filled[number]] = s[i]
		filled[number]++
	}
	for i := range x.entries {
		if here := out[starts[i]:starts[i+1]]; len(here) > 1 {
			slices.SortStableFunc(here, func(a, b Change) int { return x.compare(&a, &b) })
		}
	}
	return x.merged(out)
}

// merged removes repeated changes from a sorted set. The first of equal changes is kept, and gets
// the values of the others.
func (x *index) merged(s Set) Set {
	kept, shared := 0, true
	for i := range s {
		if i > 0 && x.compare(&s[kept-1], &s[i]) == 0 {
			if last := &s[kept-1]; len(s[i].values) > 0 {
				if shared {
					last.values, shared = slices.Clip(last.values), false
				}
				last.values = append(last.values, s[i].values...)
			}
			continue
		}
		s[kept] = s[i]
		kept, shared = kept+1, true
	}
	return s[:kept]
}
