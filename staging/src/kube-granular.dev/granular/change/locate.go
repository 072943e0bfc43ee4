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

// Locate gives the path of the most specific difference below a change, for a
// message: .spec.strategy.type, .metadata.labels[foo.com/bar],
// .status.conditions[type="Ready"].reason. It shows names, keys and the elements
// of sets, which are identity, and never a value; at most MaxPathLength bytes,
// only printable ASCII. It is slow and meant for refusals.
func (w *Walker) Locate(c Change, old, new any) string {
	return w.locate(c, old, new, len(c.place()), false)
}

// Outline is Locate for whoever may not see the objects, and knows the first steps of
// the change's place; see Sender. The keys of maps and lists and the elements of sets are
// part of an object: the path ends before the first that is not known.
func (w *Walker) Outline(c Change, old, new any, known int) string {
	return w.locate(c, old, new, known, true)
}

func (w *Walker) locate(c Change, old, new any, known int, outline bool) string {
	start, n := c.place(), c.Node
	if c.Whole {
		n = nil
		if len(start) > 0 {
			n = start[len(start)-1].Node
		}
	}
	if known < len(start) {
		return start[:known].String()
	}
	a, okA := asPlain(old)
	b, okB := asPlain(new)
	l := locator{whole: c.Whole, outline: outline}
	at := spot{node: w.tree.Root, a: a, b: b}
	var above *schema.Node
	for i, s := range start {
		at = at.follow(s)
		s.show(&l.out, above)
		above = s.Node
		if i == len(start)-1 && s.Node == nil {
			n = nil
		}
	}
	if at.node = n; (okA || isNil(old)) && okB && at.composite() {
		// The definitions may have to be made again: not for a scalar. Where they can't
		// be had, the way to the change has to do.
		if root := w.Tree().Schema(); root.Known() {
			at.cursor = w.follow(root, start)
			l.descend(at)
		}
	}
	return Shorten(l.out.String(), MaxPathLength)
}

// follow leads a cursor from the root along a path.
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

func asPlain(object any) (any, bool) {
	if m, ok := content(object); ok {
		return m, true
	}
	if isNil(object) {
		return nil, false
	}
	return typedView{v: reflect.ValueOf(object)}.plain()
}

// spot is one place in both objects. A nil value is an absent one.
type spot struct {
	cursor schema.Cursor
	node   *schema.Node
	a, b   any
	// elem says that this is an element of a list.
	elem bool
}

func (s spot) child(name string) spot {
	a, _ := s.a.(map[string]any)
	b, _ := s.b.(map[string]any)
	out := spot{cursor: s.cursor.Field(name), a: a[name], b: b[name]}
	if s.node != nil && s.node.Kind == schema.Map {
		out.node = s.node.Elem()
	} else if s.node != nil {
		out.node = s.node.Child(name)
	}
	return out
}

func (s spot) element(a, b any) spot {
	out := spot{cursor: s.cursor.Elem(), a: a, b: b, elem: true}
	if s.node != nil {
		out.node = s.node.Elem()
	}
	return out
}

func (s spot) follow(step Step) spot {
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
	return s.element(find(s.a), find(s.b))
}

// composite says that there may be a difference to name below.
func (s spot) composite() bool { return s.objects() || s.lists() }

// objects says that both are objects, or that one is and the other is not there.
func (s spot) objects() bool {
	a, mapA := s.a.(map[string]any)
	b, mapB := s.b.(map[string]any)
	return mapA && mapB || !s.elem && (len(a) > 0 && s.b == nil || len(b) > 0 && s.a == nil)
}

func (s spot) lists() bool {
	_, listA := s.a.([]any)
	_, listB := s.b.([]any)
	return listA && listB
}

type locator struct {
	out   strings.Builder
	whole bool
	// outline keeps what is no field of the schema to itself.
	outline bool
}

// descend goes on to what differs and says whether anything does. What a deeper
// permission covers is charged by itself and passed over.
func (l *locator) descend(s spot) bool {
	if equal.JSON(s.a, s.b) {
		return false
	}
	before := l.out.String()
	found := false
	switch {
	case s.objects():
		found = l.fields(s)
	case s.lists():
		found = !l.outline && l.elements(s)
	default:
		return true
	}
	if !found {
		l.rewind(before)
	}
	return found || s.node == nil || l.whole
}

func (l *locator) rewind(to string) {
	l.out.Reset()
	l.out.WriteString(to)
}

// into tries one place below, shown by show.
func (l *locator) into(s spot, show func()) bool {
	if s.node != nil && s.node.Carries() && !l.whole || equal.JSON(s.a, s.b) {
		return false
	}
	before := l.out.String()
	if show(); l.descend(s) {
		return true
	}
	l.rewind(before)
	return false
}

func (l *locator) fields(s spot) bool {
	a, _ := s.a.(map[string]any)
	b, _ := s.b.(map[string]any)
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if s.node != nil && s.node.Ignores(name) || l.outline && !s.cursor.Has(name) {
			continue
		}
		if l.into(s.child(name), func() {
			if s.cursor.IsKey(name) {
				showElement(&l.out, schema.Map, nil, []string{name})
			} else {
				showField(&l.out, name)
			}
		}) {
			return true
		}
	}
	return false
}

func (l *locator) elements(s spot) bool {
	kind, names := s.cursor.List()
	n := schema.NewList(kind, names)
	old, new := plainView{value: s.a, there: true}, plainView{value: s.b, there: true}
	before, beforeByID, ok := elements(n, old)
	after, afterByID, ok2 := elements(n, new)
	if kind == schema.List || !ok || !ok2 {
		for i := range min(old.len(), new.len()) {
			if l.into(s.element(old.list()[i], new.list()[i]), func() { l.out.WriteString("[" + strconv.Itoa(i) + "]") }) {
				return true
			}
		}
		return false
	}
	one := func(e element[plainView], a, b any) bool {
		return l.into(s.element(a, b), func() { showElement(&l.out, kind, names, e.keys) })
	}
	for _, e := range before {
		var b any
		if i, kept := afterByID[e.id]; kept {
			b = after[i].value.value
		}
		if one(e, e.value.value, b) {
			return true
		}
	}
	for _, e := range after {
		if _, kept := beforeByID[e.id]; !kept && one(e, nil, e.value.value) {
			return true
		}
	}
	// No element to name; if it is their order, the list is what changed.
	last := -1
	for _, e := range before {
		if i, kept := afterByID[e.id]; kept {
			if i < last {
				return kind == schema.ListMap
			}
			last = i
		}
	}
	return false
}
