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

// Node is a field or element of a small schema. Kids are the fields of an object, or the one element of a
// map or list.
type Node struct {
	Kind rule.Kind
	Name string
	Kids []*Node
	Mark Mark
	// Number is the same in all versions of a schema. The names of permissions are made of it.
	Number int
}

// Mark is what the schema says about the permissions of a node.
type Mark struct {
	// Verb gives the node a permission. General gives it one without a parameter in addition.
	Verb, General, Excluded bool
	// Key, Domain, Value and Inside are as in rule.Permission.
	Key           int
	Domain, Value bool
	Inside        string
	Scope         bool
	// Element gives each element of a map list a permission of its own.
	Element bool
	// Default is the default of the field.
	Default any
}

func (m Mark) String() string {
	var b strings.Builder
	for _, part := range []struct {
		set  bool
		text string
	}{{m.General, "g,"}, {m.Verb, "p"}, {m.Key > 0, fmt.Sprintf("(key%d)", m.Key)}, {m.Domain, "/"}, {m.Value, "(self" + m.Inside + ")"},
		{m.Excluded, "!"}, {m.Scope, "+scope"}, {m.Element, "+element"}, {m.Default != nil, fmt.Sprintf("=%v", m.Default)}} {
		if part.set {
			b.WriteString(part.text)
		}
	}
	return b.String()
}

// String shows the schema, such as {a:map p+scope[scalar p(key1)!]}.
func (n *Node) String() string {
	kids := make([]string, len(n.Kids))
	for i, kid := range n.Kids {
		kids[i] = kid.String()
	}
	return strings.TrimSpace(fmt.Sprintf("%s:%s %s", n.Name, n.Kind, n.Mark)) + fmt.Sprint(kids)
}

// shapes returns all schemas of a number of nodes without marks.
func shapes(size int) []*Node {
	if size == 1 {
		return []*Node{{Kind: rule.Scalar}}
	}
	var out []*Node
	for _, fields := range Forests(size - 1) {
		out = append(out, &Node{Kind: rule.Object, Kids: fields})
	}
	for _, elem := range shapes(size - 1) {
		out = append(out, &Node{Kind: rule.Map, Kids: []*Node{elem}}, &Node{Kind: rule.List, Kids: []*Node{elem}})
		if elem.Kind == rule.Scalar {
			out = append(out, &Node{Kind: rule.Set, Kids: []*Node{elem}})
		}
	}
	if size == 2 {
		return append(out, &Node{Kind: rule.MapList, Kids: []*Node{{Kind: rule.Object}}})
	}
	for _, fields := range Forests(size - 2) {
		out = append(out, &Node{Kind: rule.MapList, Kids: []*Node{{Kind: rule.Object, Kids: fields}}})
	}
	return out
}

// Forests returns all lists of schemas that have a number of nodes together. The order of fields has no
// meaning, so larger ones are last.
func Forests(size int) [][]*Node {
	var out [][]*Node
	for _, s := range shapes(size) {
		out = append(out, []*Node{s})
	}
	for first := 1; first <= size/2; first++ {
		for _, s := range shapes(first) {
			for _, rest := range Forests(size - first) {
				if count(rest[0]) >= first {
					out = append(out, append([]*Node{s}, rest...))
				}
			}
		}
	}
	return out
}

func count(n *Node) int {
	out := 1
	for _, kid := range n.Kids {
		out += count(kid)
	}
	return out
}

// Surroundings is what lies above a node.
type Surroundings struct {
	// Keys is the number of maps and lists around the node whose elements have a key.
	Keys    int
	InField bool
}

// marks returns the marks that a node can have.
func marks(n *Node, above Surroundings) []Mark {
	out := []Mark{{}, {Verb: true}, {Verb: true, Excluded: true}}
	both := func(m Mark) {
		out = append(out, m)
		m.Excluded = true
		out = append(out, m)
	}
	for key := 1; key <= above.Keys; key++ {
		both(Mark{Verb: true, Key: key})
		both(Mark{Verb: true, Key: key, Domain: true})
	}
	if n.Kind == rule.Scalar {
		both(Mark{Verb: true, Value: true})
		both(Mark{Verb: true, General: true, Value: true})
		if above.InField {
			both(Mark{Verb: true, Default: "v"})
		}
		return out
	}
	if n.Kind == rule.Object && len(n.Kids) > 0 && n.Kids[0].Kind == rule.Scalar {
		both(Mark{Verb: true, Value: true, Inside: "a"})
		if above.InField {
			out = append(out, Mark{Default: map[string]any{"a": "v"}})
			both(Mark{Verb: true, Default: map[string]any{"a": "v"}})
		}
	}
	if n.Kind == rule.MapList {
		out = append(out, Mark{Element: true}, Mark{Verb: true, Element: true}, Mark{Verb: true, Excluded: true, Element: true},
			Mark{Scope: true, Element: true})
	}
	both(Mark{Scope: true})
	both(Mark{Verb: true, Scope: true})
	return out
}

// Marked yields the schema with all combinations of marks. It changes the marks of the same nodes.
func Marked(fields []*Node, above Surroundings) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		if len(fields) == 0 {
			yield(struct{}{})
			return
		}
		n := fields[0]
		inside := Surroundings{Keys: above.Keys, InField: n.Kind == rule.Object}
		if n.Kind != rule.Object && n.Kind != rule.List {
			inside.Keys++
		}
		for _, n.Mark = range marks(n, above) {
			for range Marked(n.Kids, inside) {
				if n.Mark.Default != nil && slices.ContainsFunc(n.Kids, func(kid *Node) bool { return kid.Mark.Default != nil }) {
					continue // which of two defaults counts is not part of the rule
				}
				for range Marked(fields[1:], above) {
					if !yield(struct{}{}) {
						return
					}
				}
			}
		}
	}
}

// Root returns the schema of an object with some fields. They get the names a, b and so on, and elements an
// asterisk.
func Root(fields []*Node) *Node {
	out := &Node{Kind: rule.Object, Kids: fields}
	nameInside(out)
	number(out, 0)
	return out
}

func nameInside(n *Node) {
	for i, kid := range n.Kids {
		if kid.Name = "*"; n.Kind == rule.Object {
			kid.Name = string(rune('a' + i))
		}
		nameInside(kid)
	}
}

// number numbers the nodes after the given number, and returns the last one.
func number(n *Node, last int) int {
	n.Number = last + 1
	last = n.Number
	for _, kid := range n.Kids {
		last = number(kid, last)
	}
	return last
}
