// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"slices"
	"strings"
)

// location is a path in an object, stored as its last step and the location above, which is nil for
// the root. All changes below a location share it. So memory grows with the number of locations of
// changes, not with the total length of their paths.
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

// up returns the ancestor of p at a depth, or p itself if p is not that deep.
func (p *location) up(depth int) *location {
	for p != nil && p.depth > depth {
		p = p.above
	}
	return p
}

// compareSteps orders two steps that start from the same location: fields by name come first, then
// elements by their keys.
func compareSteps(a, b *Step) int {
	if (a.Field == "") != (b.Field == "") {
		if a.Field != "" {
			return -1
		}
		return 1
	}
	return cmp.Or(strings.Compare(a.Field, b.Field), slices.Compare(a.Keys, b.Keys))
}

// before reports whether p is known to come before q in the order of paths. For locations of
// different walks, it may return false although p comes before q.
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

// compareLocations compares two locations, also of different walks, in the order of a Set: a
// location comes before the locations below it.
func compareLocations(a, b *location) int {
	depth := min(depthOf(a), depthOf(b))
	return cmp.Or(compareSameDepth(a.up(depth), b.up(depth)), cmp.Compare(depthOf(a), depthOf(b)))
}

// compareSameDepth is compareLocations for two locations of the same depth.
func compareSameDepth(a, b *location) int {
	if a == b {
		return 0
	}
	if d := compareSameDepth(a.above, b.above); d != 0 {
		return d
	}
	return compareSteps(&a.Step, &b.Step)
}

// locationMemo remembers two locations of different walks that are known to be the same path. A nil
// location is the root.
type locationMemo struct{ a, b *location }

// same reports whether two locations are the same path. It remembers the locations above both,
// because the next two locations often start from the same locations.
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

// here returns the location of the first depth steps of the walk's path. It makes a location only
// when a change at or below needs it, because most compared fields are equal.
func (w *walk) here(depth int) *location {
	known := depth
	for known > 0 && w.path[known-1].location == nil {
		known--
	}
	var at *location
	if known > 0 {
		at = w.path[known-1].location
	}
	made := make([]location, depth-known)
	for i := range made {
		step := &w.path[known+i]
		made[i] = location{above: at, depth: known + i + 1, Step: step.Step}
		at = &made[i]
		step.location = at
	}
	return at
}

// walkStep is a step of the walk's path. location is nil until the first change needs it.
type walkStep struct {
	Step
	location *location
}
