// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/rule"
	"kube-granular.dev/granular/schema"
)

// place is what the fields around a node say about the names of its permissions.
type place struct {
	scope   string
	element string
	// depth is the number of the element with the permission element, counted as keys are.
	depth, keys int
	metadata    bool
}

// Names chooses the names of the permissions of a kind. The default is a letter and the number of the node.
type Names struct {
	// Same gives all permissions of a kind one name.
	Same bool
	// Suffix is the end of each name.
	Suffix string
}

func (a Names) number(n *Node) string {
	if a.Same {
		return "0" + a.Suffix
	}
	return fmt.Sprint(n.Number) + a.Suffix
}

func within(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + strings.ToUpper(name[:1]) + name[1:]
}

// Field returns a schema as package rule has it.
func (a Names) Field(root *Node) *rule.Field { return a.field(root, place{}, false) }

func (a Names) field(n *Node, at place, isElement bool) *rule.Field {
	f, number := &rule.Field{Kind: n.Kind, Default: n.Mark.Default, Metadata: at.metadata, Scope: n.Mark.Scope, Key: "k"}, a.number(n)
	add := func(p rule.Permission) { f.Permissions = append(f.Permissions, p) }
	if isElement && at.element != "" && at.depth == at.keys {
		add(rule.Permission{Name: at.element, Element: true, Key: 1})
	}
	verb := func(name string, p rule.Permission) {
		p.Name, p.Excluded = within(at.scope, name), n.Mark.Excluded
		add(p)
		if at.element != "" && p.Key == 0 && !p.FromValue && !p.Excluded {
			add(rule.Permission{Name: within(at.element, name), Element: true, Key: at.keys - at.depth + 1})
		}
	}
	if n.Mark.General {
		verb("g"+number, rule.Permission{})
	}
	if n.Mark.Verb {
		verb("p"+number, rule.Permission{Key: n.Mark.Key, Domain: n.Mark.Domain, FromValue: n.Mark.Value, Inside: n.Mark.Inside})
	}
	inside := at
	if n.Mark.Scope {
		add(rule.Permission{Name: "s" + number, Excluded: n.Mark.Excluded && !n.Mark.Verb})
		inside.scope, inside.element = "s"+number, ""
	}
	if n.Kind != rule.Object && n.Kind != rule.List {
		inside.keys++
	}
	if n.Mark.Element {
		inside.element, inside.depth = within(inside.scope, "e"+number), inside.keys
	}
	if n.Name == "metadata" {
		f.Metadata, inside.metadata = true, true
	}
	if at.metadata && !leads(n) {
		f.Kind, f.Scope = rule.Scalar, false // it is compared as a whole
	}
	if n.Kind == rule.Object {
		f.Fields = map[string]*rule.Field{}
		for _, kid := range n.Kids {
			f.Fields[kid.Name] = a.field(kid, inside, false)
		}
	} else if len(n.Kids) > 0 {
		f.Elem = a.field(n.Kids[0], inside, true)
	}
	return f
}

// leads reports whether a node inside n has a permission.
func leads(n *Node) bool {
	return n.Mark.Element || slices.ContainsFunc(n.Kids, func(kid *Node) bool { return kid.Mark.Verb || kid.Mark.Scope || leads(kid) })
}

// OpenAPI returns a schema as a server publishes it.
func (a Names) OpenAPI(root *Node) spec.Schema { return a.openAPI(root, 0) }

// openAPI returns the schema of a node. keys is the number of maps and lists with keys around it.
func (a Names) openAPI(n *Node, keys int) spec.Schema {
	var s spec.Schema
	number := a.number(n)
	set := func(name string, value any) { s.AddExtension(name, value) }
	if n.Mark.Verb {
		verb := "p" + number
		if n.Mark.General {
			verb = "g" + number + "," + verb
		}
		set(schema.ExtVerb, verb)
	}
	if n.Mark.Excluded {
		set(schema.ExtExcluded, true)
	}
	switch {
	case n.Mark.Key > 0:
		set(schema.ExtParameterized, fmt.Sprintf("key%d", keys-n.Mark.Key))
	case n.Mark.Value:
		set(schema.ExtParameterized, strings.TrimSuffix(schema.Self+"."+n.Mark.Inside, "."))
	}
	if n.Mark.Domain {
		set(schema.ExtTreatment, "slash-delimited-prefix")
	}
	if n.Mark.Scope {
		set(schema.ExtScope, "s"+number)
	}
	if n.Mark.Element {
		set(schema.ExtElement, "e"+number)
	}
	s.Default = n.Mark.Default
	if n.Kind != rule.Object && n.Kind != rule.List && n.Kind != rule.Scalar {
		set(schema.ExtSource, fmt.Sprintf("key%d", keys))
		keys++
	}
	var kids []spec.Schema
	for _, kid := range n.Kids {
		kids = append(kids, a.openAPI(kid, keys))
	}
	switch n.Kind {
	case rule.Scalar:
		s.Type = spec.StringOrArray{"string"}
	case rule.Object:
		s.Type, s.Properties = spec.StringOrArray{"object"}, map[string]spec.Schema{}
		for i, kid := range n.Kids {
			s.Properties[kid.Name] = kids[i]
		}
	case rule.Map:
		s.Type = spec.StringOrArray{"object"}
		s.AdditionalProperties = &spec.SchemaOrBool{Schema: &kids[0]}
	default:
		s.Type, s.Items = spec.StringOrArray{"array"}, &spec.SchemaOrArray{Schema: &kids[0]}
		switch n.Kind {
		case rule.MapList:
			kids[0].Properties["k"] = spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}}
			set("x-kubernetes-list-type", "map")
			set("x-kubernetes-list-map-keys", []any{"k"})
		case rule.Set:
			set("x-kubernetes-list-type", "set")
		}
	}
	return s
}
