// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"reflect"
	"strings"

	"kube-granular.dev/granular/equal"
	"kube-granular.dev/granular/internal/fast"
	"kube-granular.dev/granular/schema"
)

// typePlan maps a node of the permission tree to the fields of a Go type.
type typePlan struct {
	node *schema.Node
	// typ is the Go type of the node's value. If typ is a pointer type, inner is the type that it
	// points to, otherwise inner is typ.
	typ, inner reflect.Type
	// zero is a zero value of type inner, which nobody modifies.
	zero reflect.Value
	// equal compares values of typ. restEqual compares the fields in rest.
	equal, restEqual fast.Func
	// object finds the fields of a struct that differ.
	object *fast.Object
	// fields[i] is the plan for node.Fields()[i]. rest lists the fields of the Go struct for
	// which node has no child. The fields in rest are compared together.
	fields []fieldPlan
	rest   []restPlan
	// elem is the plan for the elements of a map or list. keys locate the keys of a list element.
	elem *typePlan
	keys []keyPlan
	// value locates the value from which a permission of the node makes its parameter.
	value keyPlan
}

type fieldPlan struct {
	index []int
	plan  *typePlan
	zero  reflect.Value
}

type restPlan struct {
	index []int
	name  string
}

type keyPlan struct {
	index []int
	// omitted is set if JSON leaves out a zero value, so that a zero value counts as absent.
	omitted  bool
	fallback any
}

// compiled makes and caches the functions that compare values of Go types.
var compiled = equal.Strict()

// compile matches the nodes of a tree with the fields of a Go type, by the names in json tags. It
// returns an error for a type that lacks a field of the tree, because such a type is not of the
// version that the schema describes.
func compile(path schema.NodePath, t reflect.Type) (*typePlan, error) {
	n := path.Node()
	p := &typePlan{node: n, typ: t, inner: t, equal: compiled.Of(t)}
	if t.Kind() == reflect.Pointer {
		p.inner = t.Elem()
	}
	p.zero = reflect.New(p.inner).Elem()
	kind, ok := wantKind[n.Kind]
	if ok && p.inner.Kind() != kind {
		return nil, fmt.Errorf("%s: the Go type %s can't be walked as %s", path.Pattern(), p.inner, n.Kind)
	}
	var err error
	if takes := n.TakesValue(); takes != nil {
		if p.value, err = p.valueOf(path, takes.Parameter.Field); err != nil {
			return nil, err
		}
	}
	switch n.Kind {
	case schema.Leaf:
		return p, nil
	case schema.Object:
		return p, p.fieldsOf(path)
	case schema.Map:
		if p.inner.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("%s: the keys of the Go type %s are not strings", path.Pattern(), p.inner)
		}
	}
	if p.elem, err = compile(append(path, n.Elem()), p.inner.Elem()); err != nil {
		return nil, err
	}
	return p, p.listKeys(path)
}

// wantKind is the kind of Go type that each kind of node needs.
var wantKind = map[schema.NodeKind]reflect.Kind{
	schema.Object:  reflect.Struct,
	schema.Map:     reflect.Map,
	schema.ListMap: reflect.Slice,
	schema.Set:     reflect.Slice,
	schema.List:    reflect.Slice,
}

// fieldsOf completes the plan of an object with its fields.
func (p *typePlan) fieldsOf(path schema.NodePath) error {
	found := map[string]jsonField{}
	for _, f := range jsonFields(p.inner, nil) {
		if _, twice := found[f.name]; twice && p.node.Child(f.name) != nil {
			return fmt.Errorf("%s: the Go type %s has two fields with the JSON name %s", path.Pattern(), p.inner, f.name)
		}
		found[f.name] = f
		if p.node.Child(f.name) == nil && !p.node.Ignores(f.name) {
			p.rest = append(p.rest, restPlan{index: f.index, name: f.name})
		}
	}
	paths := make([][]int, len(p.rest))
	for i := range p.rest {
		paths[i] = p.rest[i].index
	}
	p.restEqual = compiled.Fields(p.inner, paths)
	for _, child := range p.node.Fields() {
		f, ok := found[child.Field]
		if !ok {
			if child.Last() == nil && child.Fields() == nil && child.Elem() == nil {
				p.fields = append(p.fields, fieldPlan{}) // such as the metadata of a kind that has none
				continue
			}
			return fmt.Errorf("%s: the Go type %s has no such field", append(path, child).Pattern(), p.inner)
		}
		below, err := compile(append(path, child), f.typ)
		if err != nil {
			return err
		}
		if takes := child.TakesValue(); takes != nil && takes.Parameter.Field == "" {
			below.value.omitted = f.omitted
		}
		p.fields = append(p.fields, fieldPlan{index: f.index, plan: below, zero: reflect.New(f.typ).Elem()})
	}
	fields := make([]fast.Field, len(p.fields))
	for i, f := range p.fields {
		if fields[i].Path = f.index; f.plan != nil && f.plan.typ.Kind() == reflect.Struct {
			fields[i].Object = f.plan.object
		}
	}
	p.object = compiled.Object(p.inner, fields, paths)
	return nil
}

// valueOf returns the plan for reading the scalar that a parameter is made from: the named field,
// or the value itself if field is empty.
func (p *typePlan) valueOf(path schema.NodePath, field string) (keyPlan, error) {
	if field == "" && scalarKind(p.inner) {
		return keyPlan{}, nil
	}
	if field != "" && p.inner.Kind() == reflect.Struct {
		for _, f := range jsonFields(p.inner, nil) {
			if f.name == field && scalarKind(deref(f.typ)) {
				return keyPlan{index: f.index, omitted: f.omitted}, nil
			}
		}
	}
	return keyPlan{}, fmt.Errorf("%s: the Go type %s has no scalar %s for a parameter", path.Pattern(), p.inner, strings.TrimSuffix(schema.Self+"."+field, "."))
}

// listKeys adds to the plan of a list which Go fields are the keys of the elements. It returns an
// error if the Go type lacks such a field.
func (p *typePlan) listKeys(path schema.NodePath) error {
	if p.node.Kind == schema.Set && !scalarKind(p.elem.inner) {
		return fmt.Errorf("%s: the Go type %s is not a set of scalars", path.Pattern(), p.inner)
	}
	for _, key := range p.node.Keys() {
		found := -1
		fields := []jsonField(nil)
		if p.elem.inner.Kind() == reflect.Struct {
			fields = jsonFields(p.elem.inner, nil)
		}
		for i, f := range fields {
			if f.name == key.Name && scalarKind(deref(f.typ)) {
				found = i
			}
		}
		if found < 0 {
			return fmt.Errorf("%s: the Go type %s has no scalar key %s", path.Pattern(), p.elem.inner, key.Name)
		}
		p.keys = append(p.keys, keyPlan{index: fields[found].index, omitted: fields[found].omitted, fallback: key.Default})
	}
	return nil
}

type jsonField struct {
	name    string
	index   []int
	typ     reflect.Type
	omitted bool
}

// jsonFields lists the fields of a struct by their names in JSON, including those of inlined
// structs. A field that JSON leaves out is listed by its Go name in parentheses: the field is
// compared, but no schema can name it.
func jsonFields(t reflect.Type, path []int) []jsonField {
	var out []jsonField
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(path[:len(path):len(path)], i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inline := f.Anonymous && name == "" || strings.Contains(","+options+",", ",inline,")
		switch {
		case inline && f.Type.Kind() == reflect.Struct:
			out = append(out, jsonFields(f.Type, index)...)
			continue
		case name == "-" || !f.IsExported():
			name = "(" + f.Name + ")"
		case name == "":
			name = f.Name
		}
		omitted := strings.Contains(","+options+",", ",omitempty,") || strings.Contains(","+options+",", ",omitzero,")
		out = append(out, jsonField{name: name, index: index, typ: f.Type, omitted: omitted})
	}
	return out
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func scalarKind(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Float32, reflect.Float64:
		return true
	}
	return false
}
