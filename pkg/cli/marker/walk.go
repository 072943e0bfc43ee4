// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"go/ast"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// walk goes through the schema of one version and the type that it was made of, side by side.
type walk struct {
	*goTypes
	// file is the name of the file with the definition.
	file string
	// wanted are the markers of each schema, by extension.
	wanted map[*yaml.Node]map[string]*marker
	err    error
}

// group is a set of markers that stand above one type or field, and how many levels of elements they have
// passed already.
type group struct {
	markers []*marker
	passed  int
}

// schema visits the schema of a value of a type. The type is written in a file of a package. The groups are the
// markers for the schema so far, those of the field.
func (w *walk) schema(node *yaml.Node, expr ast.Expr, in *declaration, groups []group) {
	expr, in, groups = w.resolve(expr, in, groups)
	var below []group
	for _, g := range groups {
		for _, m := range g.markers {
			if m.below == g.passed {
				w.want(node, m, g)
			}
		}
		below = append(below, group{g.markers, g.passed + 1})
	}
	if s, ok := expr.(*ast.StructType); ok {
		w.structure(node, s, in, map[*ast.StructType]bool{})
	}
	elements := at(node, "items")
	if elements == nil || elements.Kind != yaml.MappingNode {
		elements = at(node, "additionalProperties")
	}
	var element ast.Expr
	switch e := expr.(type) {
	case *ast.ArrayType:
		element = e.Elt
	case *ast.MapType:
		element = e.Value
	}
	if elements == nil || elements.Kind != yaml.MappingNode {
		for _, g := range below {
			for _, m := range g.markers {
				if m.below == g.passed {
					w.fault(m.position, "the schema has no elements there: the field is no list and no map")
					m.used = true
				}
			}
		}
		return
	}
	w.schema(elements, element, in, below)
}

// resolve follows pointers and names of types. It adds the markers of the types on the way. The result is nil
// for a type that is not known, such as one of another module.
func (w *walk) resolve(expr ast.Expr, in *declaration, groups []group) (ast.Expr, *declaration, []group) {
	seen := map[*declaration]bool{}
	for {
		var next *declaration
		switch e := expr.(type) {
		case *ast.ParenExpr:
			expr = e.X
			continue
		case *ast.StarExpr:
			expr = e.X
			continue
		case *ast.Ident:
			if next = in.in.types[e.Name]; next == nil {
				return nil, in, groups
			}
		case *ast.SelectorExpr:
			name, ok := e.X.(*ast.Ident)
			if !ok {
				return nil, in, groups
			}
			var err error
			if next, err = w.imported(in.file, name.Name, e.Sel.Name); err != nil && w.err == nil {
				w.err = err
			}
			if next == nil {
				return nil, in, groups
			}
		default:
			return expr, in, groups
		}
		if seen[next] {
			return nil, in, groups
		}
		seen[next] = true
		groups = append(groups[:len(groups):len(groups)], group{markers: next.markers})
		expr, in = next.Type, next
	}
}

// structure visits the fields of a struct. Fields of inlined structs lie in the same schema.
func (w *walk) structure(node *yaml.Node, s *ast.StructType, in *declaration, above map[*ast.StructType]bool) {
	if above[s] {
		return
	}
	above[s] = true
	defer delete(above, s)
	for _, f := range s.Fields.List {
		name, inlined := fieldName(f)
		if inlined {
			w.inlined(node, f, in, above)
			continue
		}
		property := at(node, "properties", name)
		if property != nil && property.Kind == yaml.MappingNode {
			w.schema(property, f.Type, in, []group{{markers: w.fields[f]}})
			continue
		}
		for _, m := range w.fields[f] {
			m.used = true
			if name == "" {
				w.fault(m.position, "the field is not in the schema, because JSON does not have it")
			} else {
				w.fault(m.position, "the schema at %s:%d has no property %q: run controller-gen first", w.file, node.Line, name)
			}
		}
	}
}

// inlined visits the fields of an inlined struct. It has no schema of its own, so neither the field nor the type
// can have a marker there.
func (w *walk) inlined(node *yaml.Node, f *ast.Field, in *declaration, above map[*ast.StructType]bool) {
	expr, origin, groups := w.resolve(f.Type, in, []group{{markers: w.fields[f]}})
	for _, g := range groups {
		for _, m := range g.markers {
			m.used = true
			w.fault(m.position, "the struct is inlined at %s and has no schema there: mark its fields", lineOf(w.files.Position(f.Pos())))
		}
	}
	if s, ok := expr.(*ast.StructType); ok {
		w.structure(node, s, origin, above)
	}
}

// fieldName returns the name of a field in JSON, or "" if JSON does not have the field, and reports whether the
// field is a struct whose fields are those of the struct around it.
func fieldName(f *ast.Field) (name string, inlined bool) {
	var tag string
	if f.Tag != nil {
		if text, err := strconv.Unquote(f.Tag.Value); err == nil {
			tag = reflect.StructTag(text).Get("json")
		}
	}
	name, options, _ := strings.Cut(tag, ",")
	switch {
	case tag == "-":
		return "", false
	case name != "":
		return name, false
	case len(f.Names) == 0 || strings.Contains(","+options+",", ",inline,"):
		return "", true
	}
	return f.Names[0].Name, false
}

// want notes that a schema must have the extension of a marker. Two markers must not say different things.
func (w *walk) want(node *yaml.Node, m *marker, members group) {
	m.used = true
	all := w.wanted[node]
	if all == nil {
		all = map[string]*marker{}
		w.wanted[node] = all
	}
	other := all[m.extension]
	if other == nil {
		all[m.extension] = m
		if node.Style&yaml.FlowStyle != 0 && keyIndex(node, m.extension) < 0 {
			w.fault(m.position, "the schema at %s:%d is written in braces: write it as a block", w.file, node.Line)
		}
		return
	}
	for _, same := range members.markers {
		if same == other {
			w.fault(m.position, "%s is there twice, also at line %d", m.extension, other.position.Line)
			return
		}
	}
	if other.value != m.value {
		w.fault(other.position, "the type of the field says another %s, at %s", m.extension, lineOf(m.position))
	}
}

// at returns the YAML node at a path of keys, or nil.
func at(node *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		i := keyIndex(node, key)
		if i < 0 {
			return nil
		}
		node = node.Content[i+1]
	}
	return node
}

// keyIndex returns the index of a key in the content of a mapping, or -1.
func keyIndex(node *yaml.Node, key string) int {
	if node == nil || node.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return i
		}
	}
	return -1
}
