// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strconv"
	"strings"

	"kube-granular.dev/granular/schema"
)

// compareMap compares the values of two maps by key, and reports whether any of them changed.
func compareMap[V view[V]](w *walk, n *schema.Node, old, new V) bool {
	changed, keys := false, old.differingKeys(new)
	slices.Sort(keys) // so that changes are charged in order
	for _, key := range keys {
		if compareElem(w, n, []string{key}, old.at(key), new.at(key)) {
			changed = true
		}
	}
	return changed
}

// element is an element of a list in which each element has an identity: its keys, or its value in
// a set.
type element[V any] struct {
	value V
	// keys identify the element in paths and parameters.
	keys []string
	// id is one string that no other element of the list has.
	id string
}

// elements returns the elements of a list, and a map from the id of each element to its index in
// the list. It returns false if an element has no identity, or if two elements have the same
// identity. The elements of the old and the new list then can't be matched.
func elements[V view[V]](n *schema.Node, list V) ([]element[V], map[string]int, bool) {
	out := make([]element[V], 0, list.len())
	byID := make(map[string]int, list.len())
	for i := range list.len() {
		keys, ok := list.key(n, i)
		if !ok {
			return nil, nil, false
		}
		e := element[V]{value: list.index(i), keys: shownKeys(n, keys), id: identity(keys)}
		if _, twice := byID[e.id]; twice {
			return nil, nil, false
		}
		byID[e.id] = i
		out = append(out, e)
	}
	return out, byID, true
}

// identity returns one string for all keys of an element. Two elements of a list have the same
// string only if all their keys are equal.
func identity(keys []string) string {
	if len(keys) == 1 {
		return keys[0]
	}
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(strconv.Quote(k))
	}
	return b.String()
}

// shownKeys returns the keys of an element as paths and parameters show them: without the part
// that only tells apart keys with the same text; see view.key.
func shownKeys(n *schema.Node, keys []string) []string {
	if n.Kind == schema.Set {
		return keys[:1]
	}
	return keys[:len(n.Keys()):len(n.Keys())]
}

// compareListMap matches the elements of two lists by their keys, and reports whether any of them
// changed.
func compareListMap[V view[V]](w *walk, n *schema.Node, old, new V) bool {
	before, beforeByID, ok := elements(n, old)
	after, afterByID, ok2 := elements(n, new)
	if !ok || !ok2 {
		return byPosition(w, n, old, new, true)
	}
	none := new.absentElem()
	changed, reordered, last := false, false, -1
	one := func(keys []string, a, b V) {
		if compareElem(w, n, keys, a, b) {
			changed = true
		}
	}
	for _, e := range before {
		i, kept := afterByID[e.id]
		if !kept {
			one(e.keys, e.value, none)
			continue
		}
		if i < last {
			reordered = true
		}
		last = i
		one(e.keys, e.value, after[i].value)
	}
	for _, e := range after {
		if _, kept := beforeByID[e.id]; !kept {
			one(e.keys, none, e.value)
		}
	}
	if reordered && (w.mode == All || n.ExcludedAt) && (w.inScope() || !anyOrder(n)) {
		w.charge(n)
		changed = true
	}
	return changed
}

// anyOrder reports whether a new order of the list-map n is no change: each element carries a permission
// of its own, as conditions do. If one permission covers all elements, it covers their order too. This
// holds also if single elements can be granted, as with the containers of a pod: they run in order.
func anyOrder(n *schema.Node) bool {
	return slices.ContainsFunc(n.Elem().Own(), func(p *schema.Permission) bool { return !p.Element })
}

// compareSet compares how often each value occurs in two sets, and reports whether any count
// changed. It ignores the order, except in an embedded object.
func compareSet[V view[V]](w *walk, n *schema.Node, old, new V) bool {
	count := map[string]int{}
	shown := map[string]element[V]{}
	tally := func(list V, amount int) bool {
		for i := range list.len() {
			keys, ok := list.key(n, i)
			if !ok {
				return false
			}
			id := identity(keys)
			count[id] += amount
			shown[id] = element[V]{value: list.index(i), keys: shownKeys(n, keys)}
		}
		return true
	}
	if !tally(old, -1) || !tally(new, +1) {
		return byPosition(w, n, old, new, true)
	}
	changed, ids := false, make([]string, 0, len(count))
	for id, difference := range count {
		if difference != 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids) // almost the order of paths, because an id begins with the text of the element
	for _, id := range ids {
		before, after := new.absentElem(), shown[id].value
		if count[id] < 0 {
			before, after = after, before
		}
		if compareElem(w, n, shown[id].keys, before, after) {
			changed = true
		}
	}
	if (w.mode == All || n.ExcludedAt) && w.inScope() && !slices.Equal(common(n, old, new), common(n, new, old)) {
		w.charge(n)
		return true
	}
	return changed
}

// common returns the ids of those elements of a set that the other set has too, in the order of list.
func common[V view[V]](n *schema.Node, list, other V) []string {
	left := make(map[string]int, other.len())
	for i := range other.len() {
		keys, _ := other.key(n, i)
		left[identity(keys)]++
	}
	var out []string
	for i := range list.len() {
		keys, _ := list.key(n, i)
		if id := identity(keys); left[id] > 0 {
			left[id]--
			out = append(out, id)
		}
	}
	return out
}

// inScope reports whether the current location is in an embedded object, such as a pod template. A
// controller compares such an object as a whole: even a new order of elements makes it act, for
// example replace all pods. So there the order of each list belongs to the permission of the list.
func (w *walk) inScope() bool {
	for i := range w.path {
		if n := w.path[i].Node; n != nil && n.Scope() != "" {
			return true
		}
	}
	return false
}

// compareList compares two atomic lists by position.
func compareList[V view[V]](w *walk, n *schema.Node, old, new V) bool {
	return byPosition(w, n, old, new, false)
}

// byPosition compares the elements of two lists by position. whole is set for a list-map or set
// whose elements can't be matched, because an element has no identity or two have the same. Then
// byPosition also adds an Ambiguous change of the list, and two elements with different keys at
// one position count as one removed and one added.
func byPosition[V view[V]](w *walk, n *schema.Node, old, new V, whole bool) bool {
	none := new.absentElem()
	changed := false
	one := func(keys []string, a, b V) {
		if keys != nil {
			keys = shownKeys(n, keys)
		}
		if compareElem(w, n, keys, a, b) {
			changed = true
		}
	}
	keysAt := func(list V, i int) []string {
		if !whole || i >= list.len() {
			return nil
		}
		keys, _ := list.key(n, i)
		return keys
	}
	for i := range max(old.len(), new.len()) {
		a, b := none, none
		if i < old.len() {
			a = old.index(i)
		}
		if i < new.len() {
			b = new.index(i)
		}
		ka, kb := keysAt(old, i), keysAt(new, i)
		if i < old.len() && i < new.len() && identity(ka) != identity(kb) {
			one(ka, a, none)
			one(kb, none, b)
			continue
		}
		if i >= old.len() {
			ka = kb
		}
		one(ka, a, b)
	}
	switch {
	case whole:
		w.ambiguous(n, false)
		changed = true
	case old.len() != new.len() && (w.mode == All || n.ExcludedAt):
		w.charge(n)
		changed = true
	}
	return changed
}
