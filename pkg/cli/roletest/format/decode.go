// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kube-granular.dev/pkg/suggest"
)

// decoder decodes values into types of this package. Unlike encoding/json, it finds all mistakes,
// and knows the line and the path of each. It knows no case-insensitive names of fields.
type decoder struct {
	file     string
	mistakes *mistakes
}

// place is where a value is.
type place struct {
	node *yaml.Node
	line int
	path string
}

// child returns the place of a part of the value, whose node may be unknown.
func (p place) child(node *yaml.Node, path string) place {
	out := place{node, p.line, p.path + path}
	if p.path == "" {
		out.path = strings.TrimPrefix(path, ".")
	}
	if node != nil {
		out.line = node.Line
	}
	return out
}

// field returns the place of a field, and item that of an item of a list. Their lines are those of the
// value around them if they are not in the file.
func (p place) field(name string) place {
	keyNode, node := key(p.node, name)
	out := p.child(node, "."+name)
	if keyNode != nil {
		out.line = keyNode.Line
	}
	return out
}

func (p place) item(i int) place {
	var node *yaml.Node
	if p.node != nil && p.node.Kind == yaml.SequenceNode && i < len(p.node.Content) {
		node = p.node.Content[i]
	}
	return p.child(node, fmt.Sprintf("[%d]", i))
}

func (d decoder) fail(p place, format string, args ...any) {
	d.mistakes.add(d.file, p.line, p.path, format, args...)
}

// decode stores a value. The types in out are those that a decoder of JSON makes.
func (d decoder) decode(value any, p place, out reflect.Value) {
	switch out.Kind() {
	case reflect.Interface:
		if value != nil {
			out.Set(reflect.ValueOf(value))
		}
	case reflect.Pointer:
		out.Set(reflect.New(out.Type().Elem()))
		d.decode(value, p, out.Elem())
	case reflect.Struct:
		if m, ok := value.(map[string]any); ok {
			d.object(m, p, out)
			return
		}
		d.fail(p, "must be an object, but is %s", typeOf(value))
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			d.fail(p, "must be a list, but is %s", typeOf(value))
			return
		}
		out.Set(reflect.MakeSlice(out.Type(), len(list), len(list)))
		for i, one := range list {
			d.decode(one, p.item(i), out.Index(i))
		}
	default:
		given := reflect.ValueOf(value)
		if !given.IsValid() || given.Kind() != out.Kind() {
			d.fail(p, "must be %s, but is %s", typeNames[out.Kind()], typeOf(value))
			return
		}
		out.Set(given.Convert(out.Type()))
	}
}

// typeNames are the types of JSON.
var typeNames = map[reflect.Kind]string{
	reflect.String: "a text", reflect.Bool: "true or false", reflect.Int64: "a whole number",
	reflect.Float64: "a number", reflect.Map: "an object", reflect.Slice: "a list",
}

func typeOf(value any) string {
	if value == nil {
		return "empty"
	}
	return typeNames[reflect.TypeOf(value).Kind()]
}

func (d decoder) object(m map[string]any, p place, out reflect.Value) {
	fields := fieldsOf(out.Type())
	for _, name := range slices.Sorted(maps.Keys(m)) {
		child := p.field(name)
		f, known := fields[name]
		if !known {
			message := "no such field"
			if near := suggest.Nearest(name, slices.Sorted(maps.Keys(fields))); near != "" {
				message += ", did you mean " + near + "?"
			}
			d.fail(child, "%s", message)
			continue
		}
		d.decode(m[name], child, out.FieldByIndex(f.index))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, ok := m[name]; !ok && fields[name].required {
			d.fail(p, "the field %s is missing", name)
		}
	}
}

// field is a field of one of the types.
type field struct {
	index    []int
	required bool
}

// fieldsOf returns the fields of a type by their names in files. Fields of embedded types are among
// them.
func fieldsOf(t reflect.Type) map[string]field {
	out := map[string]field{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out[name] = field{f.Index, options != "omitempty"}
		}
	}
	return out
}
