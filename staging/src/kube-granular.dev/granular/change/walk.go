// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"kube-granular.dev/granular/internal/fast"
	"kube-granular.dev/granular/schema"
)

// walk is one comparison under way. Nothing of it outlives Compare but out.
type walk struct {
	mode Mode
	// in says which fields of the root are looked at.
	in   fieldSet
	tree *schema.Tree
	path []walkStep
	out  Set
	// created says that there was nothing before, and byDefault that the walk is in an
	// object of such a new one that is just its own default.
	created, byDefault bool
	// gone is how deep the path leads to the first element that is not in the new object,
	// 0 if it leads to none.
	removedAt int
	// found is where the last look at the fields of a Go type ended.
	found fast.Position
}

// wanted says whether anything at or below the node is of interest.
func (w *walk) ofInterest(n *schema.Node) bool {
	return w.mode == All || n.ExcludedAt || n.ExcludedBelow
}

func (w *walk) push(n *schema.Node, field string, keys []string) {
	w.path = append(w.path, walkStep{Step: Step{Node: n, Field: field, Keys: keys}})
}

// at is the node the walk is below, at a depth.
func (w *walk) at(depth int) *schema.Node {
	if depth == 0 {
		return w.tree.Root
	}
	return w.path[depth-1].Node
}

func (w *walk) pop() { w.path = w.path[:len(w.path)-1] }

// charge charges the place the walk is at, n, or what it was given as a field of
// the root, to the nearest node above that carries a permission.
func (w *walk) charge(n *schema.Node) {
	if w.mode == All || n.ExcludedAt {
		w.add(n, Change{})
	}
}

// whole charges the place and lets the change stand for all that is below it. A
// Sparse walk doesn't look at all that is below, so presence alone says nothing
// there unless the place is excluded itself.
func (w *walk) ambiguous(n *schema.Node, presence bool) {
	if w.mode == All || n.ExcludedAt || n.ExcludedBelow && !presence {
		w.add(n, Change{Ambiguous: true, Presence: presence})
	}
}

func (w *walk) add(n *schema.Node, c Change) {
	depth := len(w.path)
	if n == w.tree.Root {
		depth = 0
	}
	for c.Node = n; !c.Node.Carries() && depth > 0; c.Node = w.at(depth) {
		depth--
	}
	if !c.Node.Carries() {
		depth = min(1, len(w.path)) // no permission at all: name the field of the root
	}
	if c.Ambiguous {
		c.extent = w.here(len(w.path))
	}
	c.at, c.removedAt = w.here(depth), int32(w.removedAt)
	w.out = append(w.out, c)
}

// compareElem walks one element of a map or list.
func compareElem[V view[V]](w *walk, n *schema.Node, keys []string, old, new V) bool {
	w.push(n.Elem(), "", keys)
	was := w.removedAt
	if was == 0 && new.state() == absent {
		w.removedAt = len(w.path)
	}
	changed := compareNode(w, n.Elem(), old, new)
	w.removedAt = was
	w.pop()
	return changed
}

// compareNode walks one node and says whether anything at or below it changed.
// The path already leads to it.
func compareNode[V view[V]](w *walk, n *schema.Node, old, new V) bool {
	if old.identical(new) || n.Kind != schema.Object && old.equal(new) {
		return false
	}
	if n.Carries() && n.Last().Excluded && (w.byDefault || onlyDefault(w, n, old, new)) {
		return w.chargeAbove()
	}
	if n.Kind == schema.Leaf {
		w.charge(n)
		return true
	}
	if !old.hasShape(n) || !new.hasShape(n) {
		if old.equal(new) {
			return false
		}
		w.ambiguous(n, false)
		below(w, n, old, new)
		return true
	}
	was, before := w.byDefault, len(w.out)
	w.byDefault = was || w.created && n.ExcludedBelow && n.Kind == schema.Object && onlyDefault(w, n, old, new)
	changed := below(w, n, old, new)
	w.byDefault = was
	if old.state() == new.state() {
		return changed
	}
	if changed {
		// Who may change what is further down need not be who may change this.
		for i := range w.out[before:] {
			if c := &w.out[before+i]; depthOf(c.at) > len(w.path) {
				c.WithContainer = true
			}
		}
		return true
	}
	w.ambiguous(n, true)
	return true
}

func below[V view[V]](w *walk, n *schema.Node, old, new V) bool {
	switch n.Kind {
	case schema.Object:
		return compareObject(w, n, old, new)
	case schema.Map:
		return compareMap(w, n, old, new)
	case schema.ListMap:
		return compareListMap(w, n, old, new)
	case schema.Set:
		return compareSet(w, n, old, new)
	}
	return compareList(w, n, old, new)
}

// onlyDefault says that a field appeared or vanished together with what the schema
// would have put there by itself. For an excluded permission of the field that is no
// change, only one of what holds the field; for one in the field only where the whole
// object is new. In an object that was there, the field could go with what holds it, by
// one default, and come back by another, or be left out. No schema puts an element into
// a map or list: a default of theirs stands for null.
func onlyDefault[V view[V]](w *walk, n *schema.Node, old, new V) bool {
	if old.unset() == new.unset() || len(w.path) == 0 || w.at(len(w.path)-1).Kind != schema.Object {
		return false
	}
	there := new
	if new.unset() {
		there = old
	}
	value, ok := there.decoded()
	return ok && n.OnlyDefault(value, there.omitempty())
}

// chargeAbove charges what holds a field that only took its default. Where no
// permission covers that, the server's default is nobody's change.
func (w *walk) chargeAbove() bool {
	above := w.at(len(w.path) - 1)
	if w.mode == ExcludedOnly && !above.ExcludedAt || above.Last() == nil {
		return false
	}
	last := w.path[len(w.path)-1]
	w.pop()
	w.charge(above)
	w.path = append(w.path, last)
	return true
}

func compareObject[V view[V]](w *walk, n *schema.Node, old, new V) bool {
	changed, sameRest := false, true
	fields := n.Fields()
	everything := w.mode == All && (n != w.tree.Root || w.in == allFields)
	if everything && old.canScan(new) { // a look at all is more than a few fields need
		// Most fields are the same, which is cheap to tell for all of them at once.
		for i, at := old.nextDiffering(0, new, &w.found); i <= len(fields); i, at = old.nextDiffering(at, new, &w.found) {
			if i == len(fields) {
				sameRest = false
			} else if compareField(w, n, i, old, new) {
				changed = true
			}
		}
	} else {
		for i, child := range fields {
			if w.ofInterest(child) && (n != w.tree.Root || w.in.has(i)) && compareField(w, n, i, old, new) {
				changed = true
			}
		}
		if w.mode == ExcludedOnly && !n.ExcludedAt {
			return changed
		}
		sameRest = old.sameRest(n, new)
	}
	if sameRest {
		return changed
	}
	if n != w.tree.Root || n.Carries() {
		w.charge(n)
		return true
	}
	// Nothing covers these; each is charged by itself, to be named by itself.
	for _, field := range old.differing(n, new) {
		w.push(nil, field, nil)
		w.charge(n)
		w.pop()
	}
	return true
}

func compareField[V view[V]](w *walk, n *schema.Node, i int, old, new V) bool {
	child := n.Fields()[i]
	w.push(child, child.Field, nil)
	changed := compareNode(w, child, old.field(n, i), new.field(n, i))
	w.pop()
	return changed
}
