// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"slices"
	"strings"
)

// location is a step of a walk together with the location above, which is nil if that is the root.
// Changes share the locations above them. So memory grows with the number of charged locations,
// not with the length of the paths to them.
type location struct {
	above *location
	depth int
	Step
}

// depthOf returns the number of steps from the root to a location.
func depthOf(p *location) int {
	if p == nil {
		return 0
	}
	return p.depth
}

// path returns the steps from the root to the location.
func (p *location) path() Path {
	if p == nil {
		return nil
	}
	out := make(Path, p.depth)
	for ; p != nil; p = p.above {
		out[p.depth-1] = p.Step
	}
	return out
}

// up returns the location above p at the given depth, or p itself if p is not deeper than that.
func (p *location) up(depth int) *location {
	for p != nil && p.depth > depth {
		p = p.above
	}
	return p
}

// compareSteps orders the steps from the same location: fields by name, then elements by their
// keys.
func compareSteps(a, b *Step) int {
	if (a.Field == "") != (b.Field == "") {
		if a.Field != "" {
			return -1
		}
		return 1
	}
	return cmp.Or(strings.Compare(a.Field, b.Field), slices.Compare(a.Keys, b.Keys))
}

// before reports whether p is known to come before q. For locations that different comparisons
// found, the result can be false although p comes first.
func (p *location) before(q *location) bool {
	depth := min(depthOf(p), depthOf(q))
	a, b := p.up(depth), q.up(depth)
	if a == b {
		return depthOf(p) < depthOf(q)
	}
	for a.above != b.above {
		a, b = a.above, b.above
	}
	return compareSteps(&a.Step, &b.Step) < 0
}

// compareLocations orders locations, also those that different comparisons found, in the order of a
// Set: a location comes before the locations below it.
func compareLocations(a, b *location) int {
	depth := min(depthOf(a), depthOf(b))
	return cmp.Or(compareSameDepth(a.up(depth), b.up(depth)), cmp.Compare(depthOf(a), depthOf(b)))
}

// compareSameDepth orders two locations of the same depth.
func compareSameDepth(a, b *location) int {
	if a == b {
		return 0
	}
	if d := compareSameDepth(a.above, b.above); d != 0 {
		return d
	}
	return compareSteps(&a.Step, &b.Step)
}

// locationMemo remembers two equal locations that different comparisons found. The zero value
// remembers the root.
type locationMemo struct{ a, b *location }

// same reports whether two locations that different comparisons found are equal. If they are, it
// remembers the locations above a and b, because the next two locations are mostly below them too.
func (t *locationMemo) same(a, b *location) bool {
	if depthOf(a) != depthOf(b) {
		return false
	}
	for x, y := a, b; x != y && (x != t.a || y != t.b); x, y = x.above, y.above {
		if compareSteps(&x.Step, &y.Step) != 0 {
			return false
		}
	}
	if a != nil {
		t.a, t.b = a.above, b.above
	}
	return true
}

// here returns the location that the first depth steps of the walk's current path lead to. A
// location is made only when something at or below it is charged, because most compared values are
// equal.
func (w *walk) here(depth int) *location {
	known := depth
	for known > 0 && w.path[known-1].location == nil {
		known--
	}
	var found *location
	if known > 0 {
		found = w.path[known-1].location
	}
	made := make([]location, depth-known)
	for i := range made {
		step := &w.path[known+i]
		made[i] = location{above: found, depth: known + i + 1, Step: step.Step}
		found = &made[i]
		step.location = found
	}
	return found
}

// walkStep is a step of the walk, and its location, which is nil until the method here sets it.
type walkStep struct {
	Step
	location *location
}
