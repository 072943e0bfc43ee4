// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"kube-granular.dev/granular/internal/fast"
	"kube-granular.dev/granular/schema"
)

// walk is one comparison in progress. Later comparisons use the same walk again, except the field
// out, which is the result.
type walk struct {
	mode Mode
	// in is the set of top-level fields to compare.
	in   fieldSet
	tree *schema.Tree
	path []walkStep
	out  Set
	// created is set if there is no old object. byDefault is set while the walk of a new object is
	// inside a field that has only its default values.
	created, byDefault bool
	// removedAt is the number of steps from the root to the first element on the path that the new
	// object lacks, or 0 if there is no such element.
	removedAt int
	// found is the position of a known difference in two structs of a Go type. A scan of these
	// two structs can begin there.
	found fast.Position
}

// ofInterest reports whether the mode selects any change at or below the node.
func (w *walk) ofInterest(n *schema.Node) bool {
	return w.mode == All || n.ExcludedAt || n.ExcludedBelow
}

// push adds a step to the path.
func (w *walk) push(n *schema.Node, field string, keys []string) {
	w.path = append(w.path, walkStep{Step: Step{Node: n, Field: field, Keys: keys}})
}

// at returns the node on the path at a depth. Depth 0 is the root.
func (w *walk) at(depth int) *schema.Node {
	if depth == 0 {
		return w.tree.Root
	}
	return w.path[depth-1].Node
}

func (w *walk) pop() { w.path = w.path[:len(w.path)-1] }

// charge adds a change for the current location, if the mode selects it. The change is charged to
// the nearest node at or above n that carries a permission. n is the node at the current location.
// If n is the root, the path can have one more step, to a field of the root that has no node.
func (w *walk) charge(n *schema.Node) {
	if w.mode == All || n.ExcludedAt {
		w.add(n, Change{})
	}
}

// ambiguous adds an Ambiguous change, which stands for everything at and below the current
// location, if the mode selects it. presence is set if the container (object, map or list) was
// added or removed and no difference was found inside. In mode ExcludedOnly, a change with presence
// is added only if an excluded permission covers the container itself: this mode compares only some
// fields inside, so not finding a difference there means little.
func (w *walk) ambiguous(n *schema.Node, presence bool) {
	if w.mode == All || n.ExcludedAt || n.ExcludedBelow && !presence {
		w.add(n, Change{Ambiguous: true, Presence: presence})
	}
}

// add sets the node and the locations of the change c, for a difference at the node n, and adds c
// to the result.
func (w *walk) add(n *schema.Node, c Change) {
	depth := len(w.path)
	if n == w.tree.Root {
		depth = 0
	}
	for c.Node = n; !c.Node.Carries() && depth > 0; c.Node = w.at(depth) {
		depth--
	}
	if !c.Node.Carries() {
		depth = min(1, len(w.path)) // no permission covers the change, so name the top-level field
	}
	if c.Ambiguous {
		c.extent = w.here(len(w.path))
	}
	c.at, c.removedAt = w.here(depth), int32(w.removedAt)
	w.out = append(w.out, c)
}

// compareElem compares one element of a map or list, and reports whether it changed.
func compareElem[V view[V]](w *walk, n *schema.Node, keys []string, old, new V) bool {
	w.push(n.Elem(), "", keys)
	before := w.removedAt
	if before == 0 && new.state() == absent {
		w.removedAt = len(w.path)
	}
	changed := compareNode(w, n.Elem(), old, new)
	w.removedAt = before
	w.pop()
	return changed
}

// compareNode compares one node, to which the path already leads, and reports whether anything at
// or below the node changed.
func compareNode[V view[V]](w *walk, n *schema.Node, old, new V) bool {
	p := n.TakesValue()
	if p == nil {
		return compareAt(w, n, old, new)
	}
	before := len(w.out)
	changed := compareAt(w, n, old, new)
	if len(w.out) > before {
		addValues(w.out[before:], p, old, new)
	}
	return changed
}

// compareAt is compareNode, except that it does not add to the changes the values from which a
// permission of n makes its parameter.
func compareAt[V view[V]](w *walk, n *schema.Node, old, new V) bool {
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
	previous, before := w.byDefault, len(w.out)
	w.byDefault = previous || w.created && n.ExcludedBelow && n.Kind == schema.Object && onlyDefault(w, n, old, new)
	changed := below(w, n, old, new)
	w.byDefault = previous
	if old.state() == new.state() {
		return changed
	}
	if changed {
		// A caller with a permission for a field inside can still lack the permission to add or
		// remove the container.
		for i := range w.out[before:] {
			if c := &w.out[before+i]; depthOf(c.at) > len(w.path) {
				c.WithContainer = true
			}
		}
		if n.Element() {
			w.charge(n) // even if it has no other field than those inside that changed
		}
		return true
	}
	w.ambiguous(n, true)
	return true
}

// below compares the fields or elements of node n, and reports whether any of them changed.
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
	if n.Elem().TakesValue() != nil {
		return compareOwned(w, n, old, new)
	}
	return compareList(w, n, old, new)
}

// onlyDefault reports whether a field was added or removed with exactly the value that the schema
// sets by default. Such a field counts as no change for its own excluded permission, only for the
// permission of the object that contains it; see chargeAbove. On create, the fields inside such a
// field count as no change too. On an update the fields inside do count: if they did not, a caller
// could remove a field together with the object around it, and the field would come back with
// another default. The result is false for an element of a map or list, because a default never
// adds one: the default of an element only replaces null.
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

// chargeAbove charges the object that contains the current field, because the field only took its
// default, and reports whether it did. If no permission covers that object, it charges nothing:
// the server set the default, not the caller.
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

// compareObject compares the fields of an object, and reports whether any of them changed.
func compareObject[V view[V]](w *walk, n *schema.Node, old, new V) bool {
	changed, sameRest := false, true
	fields := n.Fields()
	everything := w.mode == All && (n != w.tree.Root || w.in == allFields)
	if everything && old.canScan(new) { // a scan compares all fields, so it is used only if all are needed
		// Most fields are equal. The scan skips equal fields at little cost.
		for i, index := old.nextDiffering(0, new, &w.found); i <= len(fields); i, index = old.nextDiffering(index, new, &w.found) {
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
	// No permission covers these top-level fields. Each field becomes a change of its own, so that
	// a message names it.
	for _, field := range old.differing(n, new) {
		w.push(nil, field, nil)
		w.charge(n)
		w.pop()
	}
	return true
}

// compareField compares field i of an object, and reports whether it changed.
func compareField[V view[V]](w *walk, n *schema.Node, i int, old, new V) bool {
	child := n.Fields()[i]
	w.push(child, child.Field, nil)
	changed := compareNode(w, child, old.field(n, i), new.field(n, i))
	w.pop()
	return changed
}
