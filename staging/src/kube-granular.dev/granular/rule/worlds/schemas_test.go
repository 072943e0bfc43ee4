// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"kube-granular.dev/granular/rule"
)

// node is a field or element of a small schema. The kids are the fields of an object, or the one element of
// a map or list.
type node struct {
	kind rule.Kind
	name string
	kids []*node
	mark mark
}

// mark is what the schema says about the permissions of a node.
type mark struct {
	// verb gives the node a permission. general gives it one without a parameter in addition.
	verb, general, excluded bool
	// key, domain, value and inside are as in rule.Permission.
	key           int
	domain, value bool
	inside        string
	scope         bool
	// element gives each element of a map list a permission of its own.
	element bool
	// fallback is the default of the field.
	fallback any
}

func (m mark) String() string {
	var b strings.Builder
	for _, part := range []struct {
		set  bool
		text string
	}{{m.general, "g,"}, {m.verb, "p"}, {m.key > 0, fmt.Sprintf("(key%d)", m.key)}, {m.domain, "/"}, {m.value, "(self" + m.inside + ")"},
		{m.excluded, "!"}, {m.scope, "+scope"}, {m.element, "+element"}, {m.fallback != nil, fmt.Sprintf("=%v", m.fallback)}} {
		if part.set {
			b.WriteString(part.text)
		}
	}
	return b.String()
}

// String shows the schema, such as {a:map p+scope[scalar p(key1)!]}.
func (n *node) String() string {
	kids := make([]string, len(n.kids))
	for i, kid := range n.kids {
		kids[i] = kid.String()
	}
	return strings.TrimSpace(fmt.Sprintf("%s:%s %s", n.name, n.kind, n.mark)) + fmt.Sprint(kids)
}

// shapes returns all schemas of a number of nodes without marks.
func shapes(size int) []*node {
	if size == 1 {
		return []*node{{kind: rule.Scalar}}
	}
	var out []*node
	for _, fields := range forests(size - 1) {
		out = append(out, &node{kind: rule.Object, kids: fields})
	}
	for _, elem := range shapes(size - 1) {
		out = append(out, &node{kind: rule.Map, kids: []*node{elem}}, &node{kind: rule.List, kids: []*node{elem}})
		if elem.kind == rule.Scalar {
			out = append(out, &node{kind: rule.Set, kids: []*node{elem}})
		}
	}
	if size == 2 {
		return append(out, &node{kind: rule.MapList, kids: []*node{{kind: rule.Object}}})
	}
	for _, fields := range forests(size - 2) {
		out = append(out, &node{kind: rule.MapList, kids: []*node{{kind: rule.Object, kids: fields}}})
	}
	return out
}

// forests returns all lists of schemas that have a number of nodes together. The order of fields has no
// meaning, so larger ones are last.
func forests(size int) [][]*node {
	var out [][]*node
	for _, s := range shapes(size) {
		out = append(out, []*node{s})
	}
	for first := 1; first <= size/2; first++ {
		for _, s := range shapes(first) {
			for _, rest := range forests(size - first) {
				if count(rest[0]) >= first {
					out = append(out, append([]*node{s}, rest...))
				}
			}
		}
	}
	return out
}

func count(n *node) int {
	out := 1
	for _, kid := range n.kids {
		out += count(kid)
	}
	return out
}

// surroundings is what lies above a node.
type surroundings struct {
	// keys is the number of maps and lists around the node whose elements have a key.
	keys    int
	inField bool
}

// marks returns the marks that a node can have.
func marks(n *node, above surroundings) []mark {
	out := []mark{{}, {verb: true}, {verb: true, excluded: true}}
	both := func(m mark) {
		out = append(out, m)
		m.excluded = true
		out = append(out, m)
	}
	for key := 1; key <= above.keys; key++ {
		both(mark{verb: true, key: key})
		both(mark{verb: true, key: key, domain: true})
	}
	if n.kind == rule.Scalar {
		both(mark{verb: true, value: true})
		both(mark{verb: true, general: true, value: true})
		if above.inField {
			both(mark{verb: true, fallback: "v"})
		}
		return out
	}
	if n.kind == rule.Object && len(n.kids) > 0 && n.kids[0].kind == rule.Scalar {
		both(mark{verb: true, value: true, inside: "a"})
		if above.inField {
			out = append(out, mark{fallback: map[string]any{"a": "v"}})
			both(mark{verb: true, fallback: map[string]any{"a": "v"}})
		}
	}
	if n.kind == rule.MapList {
		out = append(out, mark{element: true}, mark{verb: true, element: true}, mark{verb: true, excluded: true, element: true},
			mark{scope: true, element: true})
	}
	both(mark{scope: true})
	both(mark{verb: true, scope: true})
	return out
}

// marked yields the schema with all combinations of marks. It changes the marks of the same nodes.
func marked(fields []*node, above surroundings) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		if len(fields) == 0 {
			yield(struct{}{})
			return
		}
		n := fields[0]
		inside := surroundings{keys: above.keys, inField: n.kind == rule.Object}
		if n.kind != rule.Object && n.kind != rule.List {
			inside.keys++
		}
		for _, n.mark = range marks(n, above) {
			for range marked(n.kids, inside) {
				if n.mark.fallback != nil && slices.ContainsFunc(n.kids, func(kid *node) bool { return kid.mark.fallback != nil }) {
					continue // which of two defaults counts is not part of the rule
				}
				for range marked(fields[1:], above) {
					if !yield(struct{}{}) {
						return
					}
				}
			}
		}
	}
}

// named returns fields with the names a, b and so on, and elements with an asterisk.
func named(fields []*node) []*node {
	for i, n := range fields {
		n.name = string(rune('a' + i))
		nameInside(n)
	}
	return fields
}

func nameInside(n *node) {
	if n.kind == rule.Object {
		named(n.kids)
		return
	}
	for _, elem := range n.kids {
		elem.name = "*"
		nameInside(elem)
	}
}
