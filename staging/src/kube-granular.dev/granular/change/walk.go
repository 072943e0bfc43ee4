// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"kube-granular.dev/granular/internal/fast"
	"kube-granular.dev/granular/schema"
)

// walk is one comparison of two objects in progress. It is reused afterwards; only out, the changes
// found, outlives the comparison.
type walk struct {
	mode Mode
	// in is the set of top-level fields to compare.
	in   fieldSet
	tree *schema.Tree
	path []walkStep
	out  Set
	// created is true if there is no old object. byDefault is true while the walk is inside an
	// object that is new and has only its default values.
	created, byDefault bool
	// removedAt is the depth of the first map or list element on the path that is not in the new
	// object. It is 0 if the new object has all elements on the path.
	removedAt int
	// found is the position of a known difference in two structs of a Go type. A scan of these
	// two structs can begin there.
	found fast.Position
}

// ofInterest reports whether the mode selects changes at or below the node.
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

// charge adds a change to the result: a difference at the current location, whose node is n. The
// change is of the nearest node at or above n that carries a permission. With ExcludedOnly, charge
// does nothing if no excluded permission covers n.
func (w *walk) charge(n *schema.Node) {
	if w.mode == All || n.ExcludedAt {
		w.add(n, Change{})
	}
}

// ambiguous adds an Ambiguous change to the result: it stands for everything below the current
// location, whose node is n. If presence is true, the difference is only that the container at the
// location was added or removed. With ExcludedOnly, the walk does not compare all fields below. So
// such a presence counts only if an excluded permission covers the container itself.
func (w *walk) ambiguous(n *schema.Node, presence bool) {
	if w.mode == All || n.ExcludedAt || n.ExcludedBelow && !presence {
		w.add(n, Change{Ambiguous: true, Presence: presence})
	}
}

// add completes c with the node and the locations of a difference at n, and adds c to the result.
func (w *walk) add(n *schema.Node, c Change) {
	depth := len(w.path)
	if n == w.tree.Root {
		depth = 0
	}
	for c.Node = n; !c.Node.Carries() && depth > 0; c.Node = w.at(depth) {
		depth--
	}
	if !c.Node.Carries() {
		depth = min(1, len(w.path)) // no permission covers n: name the top-level field
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
	was := w.removedAt
	if was == 0 && new.state() == absent {
		w.removedAt = len(w.path)
	}
	changed := compareNode(w, n.Elem(), old, new)
	w.removedAt = was
	w.pop()
	return changed
}

// compareNode compares the values of node n in both objects, and adds the changes to the result. It
// reports whether anything at or below n changed. The path of the walk already ends at n.
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

// compareAt is compareNode without the values from which permissions make their parameter.
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
	was, before := w.byDefault, len(w.out)
	w.byDefault = was || w.created && n.ExcludedBelow && n.Kind == schema.Object && onlyDefault(w, n, old, new)
	changed := below(w, n, old, new)
	w.byDefault = was
	if old.state() == new.state() {
		return changed
	}
	if changed {
		// A caller that may change a field below may lack the permission for the container.
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
// sets by default. Such a change does not need the excluded permission of the field itself. It
// needs only the permission of the object that contains the field.
//
// An excluded permission of a field inside the added or removed value is exempt only if the whole
// object is created. Otherwise a caller could remove that field together with the value, and the
// field could come back with another default.
//
// onlyDefault returns false for elements of maps and lists, because no schema adds an element by
// default. A default of an element replaces null.
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

// chargeAbove charges the object that contains the current field, after onlyDefault returned true
// for the field. If no permission covers that object, chargeAbove adds no change: the server set
// the default, not the caller. It reports whether it added a change.
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
	if everything && old.canScan(new) { // to compare only some fields, a scan of all is too slow
		// Most fields are equal. One scan over all fields finds the few that differ.
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
