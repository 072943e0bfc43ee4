// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"kube-granular.dev/granular/schema"
)

// attributeWalk finds labels and annotations that differ between two objects. It visits only nodes
// that have labels or annotations at or below them.
type attributeWalk struct {
	kinds schema.Attribute
	keys  Keys
	path  Path
	out   Attributes
}

// attributeWalks is a pool of unused attributeWalks.
var attributeWalks = sync.Pool{New: func() any { return &attributeWalk{} }}

// Keys reports which keys of labels and annotations a walk must return.
type Keys interface {
	Wanted(kind schema.Attribute, key string) bool
}

// Attributes returns the labels and annotations that differ between old and new: those of the
// object itself, and those of the templates inside the object that the permission tree knows.
// kinds selects labels, annotations or both. old and new are objects as Compare accepts them, and
// old is nil on create.
//
// Elements of a list-map are matched by their keys. Elements of an atomic list have no keys. There,
// equal elements at the start and at the end of both lists are matched first, then elements by
// their name, and elements whose name is missing or not unique by position. An element without a
// match counts as added or removed with all its attributes. So a key that moves to another element
// is reported as changed. If elements have names, inserting or reordering elements changes no
// attribute of other elements.
//
// The result lacks the keys for which keys.Wanted returns false. If keys is nil, the result has
// all keys. In both cases the result has an Unreadable attribute for each location whose new value
// can't be read.
//
// An error means that the objects can't be compared. The write must then be refused.
func (w *Walker) Attributes(kinds schema.Attribute, keys Keys, old, new any) (Attributes, error) {
	if kinds&w.tree.Root.Attributes() == 0 {
		return nil, nil
	}
	if n, ok := content(new); ok {
		o, ok := content(old)
		if !ok && !isNil(old) {
			return nil, fmt.Errorf("walk of %s: old is a %T, new a %T", w.tree.Name, old, new)
		}
		before := plainView{}
		if ok {
			before = plainView{value: o, present: true}
		}
		return runAttributes(w, kinds, keys, before, plainView{value: n, present: true}), nil
	}
	v := reflect.ValueOf(new)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("walk of %s: new is a %T, not a pointer to a struct", w.tree.Name, new)
	}
	p, err := w.plan(v.Type())
	if err != nil {
		return nil, fmt.Errorf("walk of %s: %w", w.tree.Name, err)
	}
	before := typedView{p: p}
	if !isNil(old) {
		if before.v = reflect.ValueOf(old); before.v.Type() != v.Type() {
			return nil, fmt.Errorf("walk of %s: old is a %T, new a %T", w.tree.Name, old, new)
		}
	}
	return runAttributes(w, kinds, keys, before, typedView{v: v, p: p}), nil
}

// runAttributes walks two objects and returns the labels and annotations that differ.
func runAttributes[V view[V]](w *Walker, kinds schema.Attribute, keys Keys, old, new V) Attributes {
	k := attributeWalks.Get().(*attributeWalk)
	k.kinds, k.keys, k.path, k.out = kinds, keys, k.path[:0], nil
	attributesOf(k, w.tree.Root, old, new)
	out := k.out
	clear(k.path[:cap(k.path)])
	k.keys, k.out = nil, nil
	attributeWalks.Put(k)
	return out.normalize()
}

// attributesOf finds differing labels and annotations at and below node n.
func attributesOf[V view[V]](w *attributeWalk, n *schema.Node, old, new V) {
	if n.Attributes()&w.kinds == 0 || old.identical(new) {
		return
	}
	own := n.Attribute() & w.kinds
	if (own != 0 || n.Kind != schema.Object) && old.equal(new) {
		return
	}
	if own != 0 {
		keysOf(w, n, own, old, new)
		return
	}
	if !new.hasShape(n) {
		w.unreadable(n.Attributes()) // and the attributes in the old value count as removed
	}
	switch n.Kind {
	case schema.Object:
		for i, child := range n.Fields() {
			if child.Attributes()&w.kinds != 0 {
				w.path = append(w.path, Step{Node: child, Field: child.Field})
				attributesOf(w, child, old.field(n, i), new.field(n, i))
				w.pop()
			}
		}
	case schema.Map:
		for _, key := range old.differingKeys(new) {
			elementOf(w, n, []string{key}, old.at(key), new.at(key))
		}
	case schema.ListMap:
		before, beforeByID, ok := elements(n, old)
		after, afterByID, ok2 := elements(n, new)
		if !ok || !ok2 {
			compareUnkeyed(w, n, old, new)
			return
		}
		for _, e := range before {
			now := new.absentElem()
			if i, kept := afterByID[e.id]; kept {
				now = after[i].value
			}
			elementOf(w, n, e.keys, e.value, now)
		}
		for _, e := range after {
			if _, kept := beforeByID[e.id]; !kept {
				elementOf(w, n, e.keys, new.absentElem(), e.value)
			}
		}
	default:
		compareUnkeyed(w, n, old, new)
	}
}

// keysOf adds the keys that differ between two maps of labels or annotations. An old value that is
// not a map counts as a map without keys.
func keysOf[V view[V]](w *attributeWalk, n *schema.Node, own schema.Attribute, old, new V) {
	if !new.isStringMap() {
		w.unreadable(own)
		new = new.absentElem()
	}
	if !old.isStringMap() {
		old = old.absentElem()
	}
	attribute := Attribute{Kind: own} // its kind and path are the same for all keys of the map
	for _, key := range old.differingKeys(new) {
		wanted := w.keys == nil || w.keys.Wanted(own, key)
		below := n.Kind == schema.Map && n.Elem().Attributes() != 0
		if !wanted && !below {
			continue
		}
		a, b := old.at(key), new.at(key)
		if wanted {
			if attribute.Path == nil {
				attribute.Path = slices.Clone(w.path)
				attribute.setPathIDs()
			}
			attribute.Key, attribute.Old, attribute.New = key, valueOf(a), valueOf(b)
			w.out = append(w.out, attribute)
		}
		if below {
			elementOf(w, n, []string{key}, a, b)
		}
	}
}

// valueOf returns the value of a label or annotation.
func valueOf[V view[V]](v V) Value {
	if v.state() == absent {
		return Value{}
	}
	text, ok := v.text()
	return Value{Text: text, Present: true, Unreadable: !ok}
}

// elementOf compares the old and the new value of one element of a map or list, whose schema is n.
// It adds the labels and annotations inside the element that differ. keys are the keys of the
// element.
func elementOf[V view[V]](w *attributeWalk, n *schema.Node, keys []string, old, new V) {
	w.path = append(w.path, Step{Node: n.Elem(), Keys: keys})
	attributesOf(w, n.Elem(), old, new)
	w.pop()
}

func (w *attributeWalk) pop() { w.path = w.path[:len(w.path)-1] }

// unreadable adds an Unreadable attribute for the current location, whose new value can't be read:
// one for each of the given kinds.
func (w *attributeWalk) unreadable(kinds schema.Attribute) {
	for _, kind := range [...]schema.Attribute{schema.Label, schema.Annotation} {
		if kinds&w.kinds&kind != 0 {
			w.out = append(w.out, Attribute{Kind: kind, Path: slices.Clone(w.path), Unreadable: true})
		}
	}
}

// compareUnkeyed compares two lists whose elements can't be matched by keys: the elements have no
// keys, or two of them have the same keys.
func compareUnkeyed[V view[V]](w *attributeWalk, n *schema.Node, old, new V) {
	start, endOld, endNew := 0, old.len(), new.len()
	for start < min(endOld, endNew) && old.index(start).equal(new.index(start)) {
		start++
	}
	for endOld > start && endNew > start && old.index(endOld-1).equal(new.index(endNew-1)) {
		endOld, endNew = endOld-1, endNew-1
	}
	before, beforeAt := elementNames(n, old, start, endOld)
	after, afterAt := elementNames(n, new, start, endNew)
	none, matched := new.absentElem(), make([]bool, endNew-start)
	for i := start; i < endOld; i++ {
		name, other := before[i-start], -1
		switch position, ok := afterAt[name]; {
		case ok && position >= 0 && beforeAt[name] >= 0:
			other = position
		case (name == "" || ok && position < 0 && beforeAt[name] < 0) && i < endNew && after[i-start] == name:
			other = i
		}
		now := none
		if other >= 0 {
			now, matched[other-start] = new.index(other), true
		}
		elementOf(w, n, nil, old.index(i), now)
	}
	for i := start; i < endNew; i++ {
		if !matched[i-start] {
			elementOf(w, n, nil, none, new.index(i))
		}
	}
}

// elementNames returns the names of the list elements at the indexes i with start <= i < end. An
// element of a list-map has its keys as its name. The map gives the index in the list of the
// element with a name, or -1 if several elements have the name. The map lacks the empty name.
func elementNames[V view[V]](n *schema.Node, list V, start, end int) ([]string, map[string]int) {
	names, indexes := make([]string, 0, end-start), map[string]int{}
	for i := start; i < end; i++ {
		name := list.index(i).objectName()
		if n.Kind == schema.ListMap {
			if keys, ok := list.key(n, i); ok {
				name = "=" + identity(keys) // never empty, not even for an empty key
			}
		}
		names = append(names, name)
		if _, twice := indexes[name]; twice {
			indexes[name] = -1
		} else if name != "" {
			indexes[name] = i
		}
	}
	return names, indexes
}
