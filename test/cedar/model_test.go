// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package cedar

import (
	"maps"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// model is a schema with its permissions, read for Cedar.
type model struct {
	definitions map[string]*spec.Schema
	metadata    string // the name of the definition of metadata, if any
	root        *node
	permissions []*permission
	hierarchy   types.EntityMap // of the permissions, once it is made
}

// node is a field, or each element of a map or list.
type node struct {
	kind     string // object, map, map list, set, list, or "" for a value that is compared as a whole
	fields   map[string]*node
	elem     *node
	keys     []string       // of a map list: the fields that identify an element
	defaults map[string]any // of a map list: the defaults of these fields
	fallback any
	own      []*permission
	last     *permission // the innermost permission around the node, its own included
	scope    bool
	metadata bool // in the object's own metadata: null and empty are nothing
}

// permission is one permission at one node. Several may have the same name.
type permission struct {
	number   int
	name     string
	verb     string // the name without a scope or an element in front
	above    *permission
	depth    int // of the node, which is the number of nodes around it
	excluded bool
	element  bool
	// key is the number of the key around the node that is the parameter, counted from the outermost, or -1.
	// A key can have several parts.
	key, part int
	value     bool
	inside    string
	prefixes  string // the treatment
}

// around are the surroundings of a node.
type around struct {
	depth            int
	last             *permission
	scope            string
	sources          [][]string // for each key around, the names of its parts
	element          string
	elementKey       int
	entered          []string
	metadata, mapped bool
}

func newModel(definitions map[string]*spec.Schema, root *spec.Schema, metadata string) *model {
	m := &model{definitions: definitions, metadata: metadata}
	m.root = m.node([]*spec.Schema{root}, around{}, "")
	return m
}

// resolve adds the schemas that others refer to, unless they contain themselves, or the metadata of
// another object that is embedded without a scope.
func (m *model) resolve(schemas []*spec.Schema, at *around) []*spec.Schema {
	out := slices.Clone(schemas)
	for i := 0; i < len(out); i++ {
		for j := range out[i].AllOf {
			out = append(out, &out[i].AllOf[j])
		}
		ref := out[i].Ref.String()
		name := ref[strings.LastIndex(ref, "/")+1:]
		if name == "" || slices.Contains(at.entered, name) || name == m.metadata && !at.metadata && at.scope == "" {
			continue
		}
		at.entered = append(slices.Clip(at.entered), name)
		out = append(out, m.definitions[name])
	}
	return out
}

func extension(schemas []*spec.Schema, name string) any {
	for _, s := range schemas {
		if v, ok := s.Extensions["x-kubernetes-"+name]; ok {
			return v
		}
	}
	return nil
}

func text(schemas []*spec.Schema, name string) string {
	out, _ := extension(schemas, name).(string)
	return out
}

func (m *model) node(schemas []*spec.Schema, at around, field string) *node {
	if at.depth == 0 {
		at.entered = []string{"root"}
	}
	if at.depth == 1 && field == "metadata" {
		at.metadata = true
	}
	schemas = m.resolve(schemas, &at)
	n := &node{metadata: at.metadata}
	for _, s := range schemas {
		if n.fallback == nil {
			n.fallback = s.Default
		}
	}
	m.permit(n, schemas, &at)
	n.last = at.last
	at.depth++
	m.inside(n, schemas, at)
	return n
}

// source returns the number of the innermost key, and of its part, that a schema gives a name.
func (at *around) source(name string) (key, part int) {
	for key := len(at.sources) - 1; key >= 0; key-- {
		if part := slices.Index(at.sources[key], name); part >= 0 {
			return key, part
		}
	}
	panic("no parameter source " + name)
}

func capital(scope, name string) string {
	if scope == "" || name == "" {
		return scope + name
	}
	return scope + strings.ToUpper(name[:1]) + name[1:]
}

// permit adds the permissions of a node, general ones first.
func (m *model) permit(n *node, schemas []*spec.Schema, at *around) {
	add := func(p permission) {
		p.number, p.above, p.depth = len(m.permissions), at.last, at.depth
		at.last = &p
		n.own = append(n.own, &p)
		m.permissions = append(m.permissions, &p)
	}
	if at.element != "" && at.mapped && at.elementKey == len(at.sources)-1 {
		add(permission{name: at.element, element: true, key: at.elementKey})
	}
	excluded := extension(schemas, "permission-excluded")
	isExcluded := excluded != nil && excluded != false && excluded != "false"
	verbs := text(schemas, "permission-verb")
	source := text(schemas, "permission-parameterized-by")
	for verbs != "" {
		var verb string
		verb, verbs, _ = strings.Cut(verbs, ",")
		p := permission{name: capital(at.scope, verb), verb: verb, excluded: isExcluded, key: -1}
		if source != "" && verbs == "" {
			p.prefixes = text(schemas, "permission-parameter-treatment")
			if self, inside, _ := strings.Cut(source, "."); self == "self" {
				p.value, p.inside = true, inside
			} else {
				p.key, p.part = at.source(source)
			}
		}
		add(p)
		if at.element != "" && p.key < 0 && !p.value && !isExcluded {
			add(permission{name: capital(at.element, verb), verb: verb, element: true, key: at.elementKey})
		}
	}
	if scope := text(schemas, "permission-scope"); scope != "" {
		n.scope = true
		at.scope, at.element = scope, ""
		add(permission{name: scope, excluded: isExcluded && text(schemas, "permission-verb") == "", key: -1})
	}
}

// inside reads the fields or elements of a node.
func (m *model) inside(n *node, schemas []*spec.Schema, at around) {
	at.mapped = false
	fields, elems, items := map[string][]*spec.Schema{}, []*spec.Schema(nil), []*spec.Schema(nil)
	for _, s := range schemas {
		for name, f := range s.Properties {
			fields[name] = append(fields[name], &f)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			elems = append(elems, s.AdditionalProperties.Schema)
		}
		if s.Items != nil && s.Items.Schema != nil {
			items = append(items, s.Items.Schema)
		}
	}
	// keyed notes the names of the parts of a key: that of the map or list, or those of the fields.
	keyed := func(fields ...[]*spec.Schema) {
		parts := []string{text(schemas, "permission-parameter-source")}
		for i, field := range fields {
			if name := text(m.resolve(field, &around{}), "permission-parameter-source"); i > 0 || name != "" {
				parts = append(parts[:i], name)
			}
		}
		at.sources, at.mapped = append(slices.Clip(at.sources), parts), true
	}
	switch {
	case len(fields) > 0:
		n.kind, n.fields = "object", map[string]*node{}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			n.fields[name] = m.node(fields[name], at, name)
		}
	case elems != nil:
		n.kind = "map"
		keyed()
		n.elem = m.node(elems, at, "")
	case items != nil:
		n.kind = "list"
		switch extension(schemas, "list-type") {
		case "map":
			n.kind = "map list"
			n.readKeys(extension(schemas, "list-map-keys"))
			var parts [][]*spec.Schema
			for _, key := range n.keys {
				parts = append(parts, property(m.resolve(items, &around{}), key))
			}
			keyed(parts...)
			if element := text(schemas, "permission-element"); element != "" {
				at.element, at.elementKey = capital(at.scope, element), len(at.sources)-1
			}
		case "set":
			n.kind = "set"
			keyed(items)
		}
		n.elem = m.node(items, at, "")
		n.defaults = map[string]any{}
		for _, key := range n.keys {
			if f := n.elem.fields[key]; f != nil && f.fallback != nil {
				n.defaults[key] = f.fallback
			}
		}
	}
}

func property(schemas []*spec.Schema, name string) (out []*spec.Schema) {
	for _, s := range schemas {
		if f, ok := s.Properties[name]; ok {
			out = append(out, &f)
		}
	}
	return out
}

func (n *node) readKeys(keys any) {
	switch keys := keys.(type) {
	case []string:
		n.keys = keys
	case []any:
		for _, k := range keys {
			n.keys = append(n.keys, k.(string))
		}
	}
}
