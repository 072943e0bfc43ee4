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

// author translates nodes to the definition's schema and to an OpenAPI schema. Both name permissions by the
// number of the node.
type author struct {
	nodes int
	// same gives all permissions of a kind one name.
	same bool
}

func (a *author) number() string {
	if a.nodes++; a.same {
		return "0"
	}
	return fmt.Sprint(a.nodes)
}

func within(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + strings.ToUpper(name[:1]) + name[1:]
}

// field returns the schema of the definition.
func (a *author) field(n *node, at place, isElement bool) *rule.Field {
	f, number := &rule.Field{Kind: n.kind, Default: n.mark.fallback, Metadata: at.metadata, Scope: n.mark.scope, Key: "k"}, a.number()
	add := func(p rule.Permission) { f.Permissions = append(f.Permissions, p) }
	if isElement && at.element != "" && at.depth == at.keys {
		add(rule.Permission{Name: at.element, Element: true, Key: 1})
	}
	verb := func(name string, p rule.Permission) {
		p.Name, p.Excluded = within(at.scope, name), n.mark.excluded
		add(p)
		if at.element != "" && p.Key == 0 && !p.FromValue && !p.Excluded {
			add(rule.Permission{Name: within(at.element, name), Element: true, Key: at.keys - at.depth + 1})
		}
	}
	if n.mark.general {
		verb("g"+number, rule.Permission{})
	}
	if n.mark.verb {
		verb("p"+number, rule.Permission{Key: n.mark.key, Domain: n.mark.domain, FromValue: n.mark.value, Inside: n.mark.inside})
	}
	inside := at
	if n.mark.scope {
		add(rule.Permission{Name: "s" + number, Excluded: n.mark.excluded && !n.mark.verb})
		inside.scope, inside.element = "s"+number, ""
	}
	if n.kind != rule.Object && n.kind != rule.List {
		inside.keys++
	}
	if n.mark.element {
		inside.element, inside.depth = within(inside.scope, "e"+number), inside.keys
	}
	if n.name == "metadata" {
		f.Metadata, inside.metadata = true, true
	}
	if at.metadata && !leads(n) {
		f.Kind, f.Scope = rule.Scalar, false // it is compared as a whole
	}
	if n.kind == rule.Object {
		f.Fields = map[string]*rule.Field{}
		for _, kid := range n.kids {
			f.Fields[kid.name] = a.field(kid, inside, false)
		}
	} else if len(n.kids) > 0 {
		f.Elem = a.field(n.kids[0], inside, true)
	}
	return f
}

// leads reports whether a node inside n has a permission.
func leads(n *node) bool {
	return n.mark.element || slices.ContainsFunc(n.kids, func(kid *node) bool { return kid.mark.verb || kid.mark.scope || leads(kid) })
}

// openAPI returns the OpenAPI schema. keys is the number of maps and lists with keys around the node.
func (a *author) openAPI(n *node, keys int) spec.Schema {
	var s spec.Schema
	number := a.number()
	set := func(name string, value any) { s.AddExtension(name, value) }
	if n.mark.verb {
		verb := "p" + number
		if n.mark.general {
			verb = "g" + number + "," + verb
		}
		set(schema.ExtVerb, verb)
	}
	if n.mark.excluded {
		set(schema.ExtExcluded, true)
	}
	switch {
	case n.mark.key > 0:
		set(schema.ExtParameterized, fmt.Sprintf("key%d", keys-n.mark.key))
	case n.mark.value:
		set(schema.ExtParameterized, strings.TrimSuffix(schema.Self+"."+n.mark.inside, "."))
	}
	if n.mark.domain {
		set(schema.ExtTreatment, "slash-delimited-prefix")
	}
	if n.mark.scope {
		set(schema.ExtScope, "s"+number)
	}
	if n.mark.element {
		set(schema.ExtElement, "e"+number)
	}
	s.Default = n.mark.fallback
	if n.kind != rule.Object && n.kind != rule.List && n.kind != rule.Scalar {
		set(schema.ExtSource, fmt.Sprintf("key%d", keys))
		keys++
	}
	var kids []spec.Schema
	for _, kid := range n.kids {
		kids = append(kids, a.openAPI(kid, keys))
	}
	switch n.kind {
	case rule.Scalar:
		s.Type = spec.StringOrArray{"string"}
	case rule.Object:
		s.Type, s.Properties = spec.StringOrArray{"object"}, map[string]spec.Schema{}
		for i, kid := range n.kids {
			s.Properties[kid.name] = kids[i]
		}
	case rule.Map:
		s.Type = spec.StringOrArray{"object"}
		s.AdditionalProperties = &spec.SchemaOrBool{Schema: &kids[0]}
	default:
		s.Type, s.Items = spec.StringOrArray{"array"}, &spec.SchemaOrArray{Schema: &kids[0]}
		switch n.kind {
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
