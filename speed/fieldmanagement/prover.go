// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kube-granular.dev/granular/equal"
)

// prover proves that every value of a Go type is valid against a type of a schema. Duplicate
// elements of a list count as valid. The methods return false if they can't prove this, so false
// does not mean that some value is invalid.
type prover struct {
	schema *schema.Schema
	// known has the results so far. If the proof of a type meets the type again, as in a tree, the
	// type counts as valid there: values are finite, so each level needs the same proof. Results
	// that rest on this assumption hold only if the proof succeeds. tentative has their keys.
	known     map[proof]bool
	tentative []proof
	depth     int
}

type proof struct {
	typ reflect.Type
	// name is the name of the schema type, empty for an inlined type. An inlined type is
	// identified by inlined and list, pointers into its definition. They are used only as long as
	// the prover exists.
	name         string
	inlined      *schema.Map
	list         *schema.List
	relationship schema.ElementRelationship
}

// scalarTypes are the Go types that are encoded as a scalar in JSON, with the scalar types of a
// schema that they are valid against.
var scalarTypes = map[reflect.Type][]schema.Scalar{
	reflect.TypeFor[metav1.Time]():        {schema.String},
	reflect.TypeFor[metav1.MicroTime]():   {schema.String},
	reflect.TypeFor[metav1.Duration]():    {schema.String},
	reflect.TypeFor[resource.Quantity]():  {schema.String},
	reflect.TypeFor[intstr.IntOrString](): {},
}

// converts reports whether a type has its own method that encodes it in JSON.
func converts(t reflect.Type) bool { return value.TypeReflectEntryOf(t).CanConvertToUnstructured() }

func (p *prover) valid(t reflect.Type, tr schema.TypeRef) bool {
	atom, ok := p.schema.Resolve(tr)
	if !ok || atom.Map == nil && atom.List == nil && atom.Scalar == nil {
		return false
	}
	key := proof{typ: t, inlined: atom.Map, list: atom.List}
	if tr.NamedType != nil {
		key.name = *tr.NamedType
	}
	if tr.ElementRelationship != nil {
		key.relationship = *tr.ElementRelationship
	}
	if known, ok := p.known[key]; ok {
		return known
	}
	if p.known == nil {
		p.known = map[proof]bool{}
	}
	p.known[key] = true
	p.tentative = append(p.tentative, key)
	p.depth++
	valid := p.prove(t, atom)
	p.depth--
	if !valid {
		p.known[key] = false
	}
	if p.depth == 0 {
		for _, k := range p.tentative {
			if !valid && p.known[k] {
				delete(p.known, k)
			}
		}
		p.tentative = p.tentative[:0]
	}
	return valid
}

func (p *prover) prove(t reflect.Type, atom schema.Atom) bool {
	if kinds, ok := scalarTypes[t]; ok {
		return scalar(atom, kinds...)
	}
	if equal.Opaque(t) {
		return true // no two values of an opaque type are equal, so none is dropped
	}
	if converts(t) {
		// A pointer to a type with its own encoding is encoded like the type itself.
		_, ok := scalarTypes[deref(t)]
		return (ok || equal.Opaque(deref(t))) && t.Kind() == reflect.Pointer && p.prove(t.Elem(), atom)
	}
	switch t.Kind() {
	case reflect.String:
		return scalar(atom, schema.String)
	case reflect.Bool:
		return scalar(atom, schema.Boolean)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return scalar(atom, schema.Numeric)
	case reflect.Pointer:
		return t.Elem().Kind() != reflect.Pointer && p.prove(t.Elem(), atom)
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[byte]() {
			return scalar(atom, schema.String)
		}
		return atom.List != nil && p.list(t.Elem(), atom.List)
	case reflect.Map:
		return atom.Map != nil && t.Key().Kind() == reflect.String && !converts(t.Key()) &&
			len(atom.Map.Fields) == 0 && atom.Map.ElementType != schema.TypeRef{} && p.valid(t.Elem(), atom.Map.ElementType)
	case reflect.Struct:
		return atom.Map != nil && p.object(t, atom.Map)
	}
	return false // floats, interfaces and other types that no API type should have
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func scalar(atom schema.Atom, kinds ...schema.Scalar) bool {
	if atom.Scalar == nil {
		return false
	}
	if *atom.Scalar == schema.Untyped {
		return true
	}
	for _, k := range kinds {
		if *atom.Scalar == k {
			return true
		}
	}
	return false
}

func (p *prover) object(t reflect.Type, m *schema.Map) bool {
	fields, ok := jsonFieldsOf(t)
	if !ok {
		return false
	}
	for _, f := range fields {
		tr, ok := fieldType(m, f.name)
		if !ok || !p.valid(f.typ, tr) {
			return false
		}
	}
	return true
}

// fieldType returns the type of a named field of a map in a schema. If the map does not list the
// field, this is the type of the map's elements. fieldType returns false if the map has no type of
// elements either.
func fieldType(m *schema.Map, name string) (schema.TypeRef, bool) {
	if f, ok := m.FindField(name); ok {
		return f.Type, true
	}
	return m.ElementType, m.ElementType != schema.TypeRef{}
}

// atomic reports whether upstream compares values of a schema type as a whole. It also returns
// true for a type that is not a map or that the schema lacks.
func (p *prover) atomic(tr schema.TypeRef) bool {
	atom, ok := p.schema.Resolve(tr)
	return !ok || atom.Map == nil || atom.Map.ElementRelationship == schema.Atomic
}

// list proves that each element of a list is valid. If the list has map keys, it also proves that
// each element has at least one of the key fields.
func (p *prover) list(elem reflect.Type, l *schema.List) bool {
	if l.ElementRelationship == schema.Associative {
		if len(l.Keys) == 0 {
			switch elem.Kind() {
			case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
				return !converts(elem) && p.valid(elem, l.ElementType)
			}
			return false
		}
		if elem.Kind() != reflect.Struct || converts(elem) || !p.keyed(elem, l) {
			return false
		}
	}
	return p.valid(elem, l.ElementType)
}

// keysOf is for a list with map keys that is valid if each element has at least one of the key
// fields, but whose Go type does not ensure that. keysOf returns these key fields, so that the
// comparison of two lists can check each element. It returns nil for any other type.
func (p *prover) keysOf(t reflect.Type, tr schema.TypeRef) []*value.FieldCacheEntry {
	atom, ok := p.schema.Resolve(tr)
	if !ok || t.Kind() != reflect.Slice || converts(t) || atom.List == nil || atom.List.ElementRelationship != schema.Associative {
		return nil
	}
	elem := t.Elem()
	if elem.Kind() != reflect.Struct || converts(elem) || p.keyed(elem, atom.List) || !p.valid(elem, atom.List.ElementType) {
		return nil
	}
	var out []*value.FieldCacheEntry
	for _, key := range atom.List.Keys {
		if entry := value.TypeReflectEntryOf(elem).Fields()[key]; entry != nil {
			out = append(out, entry)
		}
	}
	return out
}

// keyed reports whether every element of a list is sure to have at least one of the list's key
// fields, because JSON never leaves out the field or the schema has a default for it.
func (p *prover) keyed(elem reflect.Type, l *schema.List) bool {
	atom, ok := p.schema.Resolve(l.ElementType)
	if !ok || atom.Map == nil {
		return false
	}
	zero := reflect.New(elem).Elem()
	for _, key := range l.Keys {
		if f, ok := atom.Map.FindField(key); ok && f.Default != nil {
			return true
		}
		if entry := value.TypeReflectEntryOf(elem).Fields()[key]; entry != nil && !entry.CanOmit(entry.GetFrom(zero)) {
			return true
		}
	}
	return false
}

// jsonName reads the json tag of a field in the same way as structured-merge-diff.
func jsonName(f reflect.StructField) (name string, inline, omit bool) {
	if f.PkgPath != "" && !f.Anonymous {
		return "", false, true
	}
	tag := f.Tag.Get("json")
	if tag == "-" {
		return "", false, true
	}
	name, _, _ = strings.Cut(tag, ",")
	if name == "" {
		return f.Name, f.Anonymous, false
	}
	return name, false, false
}
