// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"slices"
	"strings"
)

// place is where a walk came by: a step, and the place it leads on from, which is nil for
// the root. Changes below one place share it, so that what a walk keeps grows with the
// places it charges, and not with what leads to them.
type location struct {
	above *location
	depth int
	Step
}

// depthOf returns how many steps lead to a place.
func depthOf(p *location) int {
	if p == nil {
		return 0
	}
	return p.depth
}

// path spells out the way to a place.
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

// up returns the place so many steps from the root on the way to p, or p where that is not
// so far away.
func (p *location) up(depth int) *location {
	for p != nil && p.depth > depth {
		p = p.above
	}
	return p
}

// compareSteps orders what leads on from one place: fields by name, then elements by
// their keys.
func compareSteps(a, b *Step) int {
	if (a.Field == "") != (b.Field == "") {
		if a.Field != "" {
			return -1
		}
		return 1
	}
	return cmp.Or(strings.Compare(a.Field, b.Field), slices.Compare(a.Keys, b.Keys))
}

// before reports whether p is seen to come before q. Of places of different walks that can't
// always be seen.
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

// comparePlaces orders places of any walks as a Set is ordered: a place comes before what is
// below it.
func compareLocations(a, b *location) int {
	depth := min(depthOf(a), depthOf(b))
	return cmp.Or(compareSameDepth(a.up(depth), b.up(depth)), cmp.Compare(depthOf(a), depthOf(b)))
}

// compareWays orders places of one depth.
func compareSameDepth(a, b *location) int {
	if a == b {
		return 0
	}
	if d := compareSameDepth(a.above, b.above); d != 0 {
		return d
	}
	return compareSteps(&a.Step, &b.Step)
}

// twins knows two places of different walks to be the same place, nil being the root.
type locationMemo struct{ a, b *location }

// same reports whether two places are, and remembers those above: the next ones mostly lead
// on from there.
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

// here returns the place of the walk at a depth. It is made when something is charged
// there or below: most of what is compared is the same.
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

// visit is a step of the walk, and the place it leads to once that was made.
type walkStep struct {
	Step
	location *location
}
