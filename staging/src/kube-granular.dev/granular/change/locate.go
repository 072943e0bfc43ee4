// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"kube-granular.dev/granular/equal"
	"kube-granular.dev/granular/schema"
)

// Locate returns the path of the most specific difference that belongs to a change, for a message:
// .spec.strategy.type, .metadata.labels[foo.com/bar], .status.conditions[type="Ready"].reason. The
// path contains names of fields, keys of map and list elements, and elements of sets, which are
// identified by their value. It never contains any other value. The path is printable ASCII of at
// most MaxPathLength bytes. Locate compares each value at most once. It is slow, and meant for
// refusals.
func (w *Walker) Locate(c Change, old, new any) string {
	path, _ := w.locate(c, old, new, depthOf(c.narrowest()), false)
	return path
}

// Removes reports whether only the old object has a value at the path that Locate returns. A scalar
// field of a Go object that is zero counts as absent. Removes is as slow as Locate.
func (w *Walker) Removes(c Change, old, new any) bool {
	_, removed := w.locate(c, old, new, depthOf(c.narrowest()), false)
	return removed
}

// Outline is Locate for a caller who is not allowed to see the objects. known is the number of
// steps from the root that the caller knows; see Sender.Knows. Keys of maps and lists and elements
// of sets are content of an object, so the path ends before the first unknown key or element.
func (w *Walker) Outline(c Change, old, new any, known int) string {
	path, _ := w.locate(c, old, new, known, true)
	return path
}

// locate returns a path for Locate or Outline, and whether only the old object has a value there.
func (w *Walker) locate(c Change, old, new any, known int, outline bool) (path string, removed bool) {
	start, n := c.narrowest().path(), w.tree.Root
	if len(start) > 0 {
		n = start[len(start)-1].Node // nil for a field that the tree does not have
	}
	if known < len(start) {
		return start[:known].String(), false
	}
	l := locator{ambiguous: c.Ambiguous, outline: outline}
	var out strings.Builder
	pair := w.pairAt(start, old, new)
	removed = pair.removed()
	var above *schema.Node
	for _, s := range start {
		s.show(&out, above)
		above = s.Node
	}
	if pair.node = n; pair.composite() {
		// Schema may have to generate the definitions, which is slow, so it is not called for a
		// scalar. Without definitions the message names only the location of the change.
		if root := w.Tree().Schema(); root.Known() {
			pair.cursor = w.follow(root, start)
			l.descend(pair)
		}
	}
	if len(l.steps) > 0 {
		removed = l.removed
	}
	for i := len(l.steps) - 1; i >= 0 && out.Len() <= MaxPathLength; i-- {
		out.WriteString(l.steps[i])
	}
	return Shorten(out.String(), MaxPathLength), removed
}

// follow returns the schema cursor at the end of a path. c is the cursor at the root.
func (w *Walker) follow(c schema.Cursor, path Path) schema.Cursor {
	above := w.tree.Root
	for _, s := range path {
		switch {
		case s.Field != "":
			c = c.Field(s.Field)
		case above != nil && above.Kind == schema.Map && len(s.Keys) == 1:
			c = c.Field(s.Keys[0])
		default:
			c = c.Elem()
		}
		above = s.Node
	}
	return c
}

// pairAt returns the values of both objects at a location. Of a Go object, it converts only the
// value at the location to decoded JSON.
func (w *Walker) pairAt(path Path, old, new any) valuePair {
	before, plainOld := content(old)
	after, plainNew := content(new)
	if plainNew && (plainOld || isNil(old)) {
		pair := valuePair{node: w.tree.Root, b: after}
		if plainOld {
			pair.a = before
		}
		for _, s := range path {
			pair = pair.follow(s)
		}
		return pair
	}
	a, okA := w.valueAt(old, path)
	b, okB := w.valueAt(new, path)
	if !okA || !okB {
		return valuePair{}
	}
	return valuePair{a: a, b: b, elem: len(path) > 0 && path[len(path)-1].Field == ""}
}

// valueAt returns the value at a location of a Go object as decoded JSON, nil if the value is
// absent. It returns false if the value can't be determined.
func (w *Walker) valueAt(object any, path Path) (any, bool) {
	if isNil(object) {
		return nil, true
	}
	v := typedView{v: reflect.ValueOf(object)}
	var err error
	if v.p, err = w.plan(v.v.Type()); err != nil {
		return nil, false
	}
	n := w.tree.Root
	for _, s := range path {
		switch position := slices.Index(n.Fields(), s.Node); {
		case position >= 0:
			v = v.field(n, position)
		case s.Field != "":
			return nil, false // the tree does not have the field
		case n.Kind == schema.Map && len(s.Keys) == 1:
			v = v.at(s.Keys[0])
		default:
			i := -1
			for j := 0; j < v.len() && len(s.Keys) > 0 && i < 0; j++ {
				if keys, ok := v.key(n, j); ok && slices.Equal(keys[:len(s.Keys)], s.Keys) {
					i = j
				}
			}
			if i < 0 {
				return nil, true
			}
			v = v.index(i)
		}
		n = s.Node
	}
	if v.isEmpty() || !v.elem && isZeroScalar(v.v) {
		return nil, true
	}
	return v.decoded()
}

// isZeroScalar reports whether a value is no pointer, object or list, and is zero.
func isZeroScalar(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array, reflect.Pointer, reflect.Interface:
		return false
	}
	return v.IsZero()
}

// valuePair holds the values of both objects at one location. An absent value is nil.
type valuePair struct {
	cursor schema.Cursor
	node   *schema.Node
	a, b   any
	// elem is true for an element of a list.
	elem bool
}

// child returns the pair of a field of two objects, or of a key of two maps.
func (s valuePair) child(name string) valuePair {
	a, _ := s.a.(map[string]any)
	b, _ := s.b.(map[string]any)
	out := valuePair{a: a[name], b: b[name]}
	if out.composite() { // a scalar needs no cursor
		out.cursor = s.cursor.Field(name)
	}
	if s.node != nil && s.node.Kind == schema.Map {
		out.node = s.node.Elem()
	} else if s.node != nil {
		out.node = s.node.Child(name)
	}
	return out
}

// element returns the pair of two list elements a and b. items is the schema cursor for elements.
func (s valuePair) element(items schema.Cursor, a, b any) valuePair {
	out := valuePair{cursor: items, a: a, b: b, elem: true}
	if s.node != nil {
		out.node = s.node.Elem()
	}
	return out
}

// follow returns the pair at the end of a step.
func (s valuePair) follow(step Step) valuePair {
	if step.Field != "" {
		return s.child(step.Field)
	}
	if s.node != nil && s.node.Kind == schema.Map && len(step.Keys) == 1 {
		return s.child(step.Keys[0])
	}
	find := func(list any) any {
		v := plainView{value: list}
		if s.node == nil || len(step.Keys) == 0 {
			return nil
		}
		for i := range v.len() {
			if keys, ok := v.key(s.node, i); ok && slices.Equal(keys[:len(step.Keys)], step.Keys) {
				return v.list()[i]
			}
		}
		return nil
	}
	return s.element(s.cursor.Elem(), find(s.a), find(s.b))
}

// removed reports whether only the old object has a value.
func (s valuePair) removed() bool { return s.a != nil && s.b == nil }

// composite reports whether the values have fields or elements, so that a message can name the one
// that differs.
func (s valuePair) composite() bool { return s.objects() || s.lists() }

// objects reports whether both values are objects, or one is a non-empty object and the other is
// absent. The second case does not apply to list elements: a message names an added or removed
// element as a whole.
func (s valuePair) objects() bool {
	a, mapA := s.a.(map[string]any)
	b, mapB := s.b.(map[string]any)
	return mapA && mapB || !s.elem && (len(a) > 0 && s.b == nil || len(b) > 0 && s.a == nil)
}

// lists reports whether both values are lists.
func (s valuePair) lists() bool {
	_, listA := s.a.([]any)
	_, listB := s.b.([]any)
	return listA && listB
}

// locator finds a difference that a message can name. It compares two objects or lists only by
// descending into them. If it also compared them as a whole first, each level would compare
// everything below it again.
type locator struct {
	// steps are the steps of the path as text, the last step first. removed is set if only the old object
	// has a value at their end.
	steps   []string
	removed bool
	// ambiguous is true if the change is Ambiguous.
	ambiguous bool
	// outline is set if the steps must be fields that the schema has, not keys or elements.
	outline bool
}

// descend searches two different values for a difference that a message can name, and reports
// whether it found one. It skips fields and elements that a deeper permission covers, because a
// difference there is a change of its own.
func (l *locator) descend(s valuePair) bool {
	switch {
	case s.objects():
		return l.fields(s)
	case s.lists() && l.outline:
		return l.nameable(s) && !equal.JSON(s.a, s.b)
	case s.lists():
		return l.elements(s)
	}
	return true
}

// nameable reports whether every difference at or below a location belongs to the change, so that
// the message can name the location itself if no deeper difference can be named.
func (l *locator) nameable(s valuePair) bool { return s.node == nil || l.ambiguous }

// tryBelow descends into s, the values one step deeper. If it finds a difference there, it adds
// that step to the path and returns true. show returns the step as text.
func (l *locator) tryBelow(s valuePair, show func() string) bool {
	if !l.nameable(s) && s.node.Carries() || !l.descend(s) {
		return false
	}
	if len(l.steps) == 0 {
		l.removed = s.removed()
	}
	l.steps = append(l.steps, show())
	return true
}

// fields looks for a difference in the fields of two objects, and reports whether it found one.
func (l *locator) fields(s valuePair) bool {
	a, _ := s.a.(map[string]any)
	b, _ := s.b.(map[string]any)
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	differs := len(names) != len(a) || len(names) != len(b) || (a == nil) != (b == nil)
	for _, name := range names {
		if sameScalar(a[name], b[name]) {
			continue
		}
		if s.node != nil && s.node.Ignores(name) || l.outline && !s.cursor.Has(name) {
			differs = differs || !equal.JSON(a[name], b[name])
			continue
		}
		if l.tryBelow(s.child(name), func() string {
			var out strings.Builder
			if s.cursor.IsKey(name) {
				showElement(&out, schema.Map, nil, []string{name})
			} else {
				showField(&out, name)
			}
			return out.String()
		}) {
			return true
		}
	}
	return differs && l.nameable(s)
}

// sameScalar reports whether two values are equal scalars. It does not look into objects and
// lists.
func sameScalar(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	return equal.JSON(a, b)
}

// elements looks for a difference in the elements of two lists, and reports whether it found one.
func (l *locator) elements(s valuePair) bool {
	kind, names := s.cursor.List()
	n, elem := schema.NewList(kind, names), s.cursor.Elem()
	old, new := plainView{value: s.a, present: true}, plainView{value: s.b, present: true}
	differs := old.len() != new.len() || (old.list() == nil) != (new.list() == nil)
	one := func(a, b any, show func() string) bool {
		return !sameScalar(a, b) && l.tryBelow(s.element(elem, a, b), show)
	}
	before, beforeByID, ok := elements(n, old)
	after, afterByID, ok2 := elements(n, new)
	if kind == schema.List || !ok || !ok2 {
		for i := range min(old.len(), new.len()) {
			if one(old.list()[i], new.list()[i], func() string { return "[" + strconv.Itoa(i) + "]" }) {
				return true
			}
		}
		return differs && l.nameable(s)
	}
	shown := func(e element[plainView]) func() string {
		return func() string {
			var out strings.Builder
			showElement(&out, kind, names, e.keys)
			return out.String()
		}
	}
	// If all elements are equal, only their order can differ.
	reordered, last := false, -1
	for _, e := range before {
		var b any
		if i, kept := afterByID[e.id]; kept {
			b = after[i].value.value
			reordered, last = reordered || i < last, i
		}
		if one(e.value.value, b, shown(e)) {
			return true
		}
	}
	for _, e := range after {
		if _, kept := beforeByID[e.id]; !kept && one(nil, e.value.value, shown(e)) {
			return true
		}
	}
	// No differing element can be named. If only the order changed, the message names the list.
	return reordered && kind == schema.ListMap || (differs || reordered) && l.nameable(s)
}
