// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kube-granular.dev/granular/equal"
)

// structPlan describes which fields may be dropped from values of a struct type. A nil plan means
// that no field may be dropped.
type structPlan struct {
	fields []fieldPlan
	// whole is true if fields has all fields of the struct, and each may be dropped.
	whole bool
	// count is the number of fields of the struct. minimal is true if the struct is an API object,
	// so that what is left of it may be replaced by a minimalObject.
	count   int
	minimal bool
}

type fieldPlan struct {
	name  string
	typ   reflect.Type
	index []int
	// equal reports whether the field is equal in both objects, so that it may be dropped as a
	// whole. equal is nil if the field must never be dropped as a whole.
	equal func(a, b reflect.Value) bool
	// below describes which fields inside this field may be dropped if the field as a whole
	// differs.
	below   *structPlan
	pointer bool
	managed bool
	// entries drops equal entries from the field, if the field is a map that differs.
	entries func(a, b reflect.Value) []dropped
}

var objectMetaType = reflect.TypeFor[metav1.ObjectMeta]()

// compile makes the plan of the Go struct t, which the schema describes by the type tr. within has
// the structs that contain t. If t is among these, compile returns nil, because a plan for such a
// recursive type would save little.
func (p *prover) compile(t reflect.Type, tr schema.TypeRef, within map[reflect.Type]bool) *structPlan {
	atom, ok := p.schema.Resolve(tr)
	if !ok || atom.Map == nil || t.Kind() != reflect.Struct || within[t] {
		return nil
	}
	fields, ok := jsonFieldsOf(t)
	if !ok {
		return nil
	}
	within[t] = true
	defer delete(within, t)
	out := &structPlan{whole: true, count: len(fields)}
	for _, f := range fields {
		ref, ok := fieldType(atom.Map, f.name)
		if !ok {
			out.whole = false
			continue
		}
		plan := fieldPlan{name: f.name, typ: f.typ, index: f.index}
		inner := f.typ
		if plan.pointer = inner.Kind() == reflect.Pointer; plan.pointer {
			inner = inner.Elem()
		}
		// Fields are dropped only inside a struct that JSON writes even if it is zero. Any other
		// struct could become absent in one object only, when its fields are dropped.
		if inner.Kind() == reflect.Struct && !f.entry.CanOmit(zeroOf(f.typ)) && !converts(inner) && !converts(f.typ) && !p.atomic(ref) {
			plan.below = p.compile(inner, ref, within)
		}
		if plan.below != nil && plan.below.whole || p.valid(f.typ, ref) {
			plan.equal = p.equality(f.typ, ref, plan)
			if !p.atomic(ref) {
				plan.entries = entries[f.typ]
			}
		} else if keys := p.keysOf(f.typ, ref); len(keys) > 0 {
			plan.equal = elements(f.typ, keys)
		}
		if plan.equal != nil || plan.below != nil {
			out.fields = append(out.fields, plan)
		}
		out.whole = out.whole && plan.equal != nil
	}
	slices.SortFunc(out.fields, func(a, b fieldPlan) int { return strings.Compare(a.name, b.name) })
	return out
}

// equality returns a comparison for a field that is at least as strict as upstream's. It returns
// nil if the schema does not describe the field. Upstream compares the elements of an atomic list
// with reflect.DeepEqual. It treats the elements of a list with map keys in this way only if that
// list is inside another list. equal.Exact treats elements of all lists in this way.
func (p *prover) equality(t reflect.Type, tr schema.TypeRef, plan fieldPlan) func(a, b reflect.Value) bool {
	atom, ok := p.schema.Resolve(tr)
	switch below := plan.below; {
	case !ok:
		return nil
	case below != nil && below.whole && !plan.pointer:
		return below.equal
	case below != nil && below.whole:
		return func(a, b reflect.Value) bool {
			if a.IsNil() || b.IsNil() {
				return a.IsNil() && b.IsNil()
			}
			return a.UnsafePointer() == b.UnsafePointer() || below.equal(a.Elem(), b.Elem())
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && atom.List != nil && atom.List.ElementRelationship == schema.Associative:
		return elements(t, nil)
	}
	if structs(deref(t)) {
		return equal.Bitwise(t)
	}
	return equal.Exact(t)
}

// structs reports whether t is a struct that is encoded field by field. Such a struct may contain
// lists that the schema does not describe.
func structs(t reflect.Type) bool { return t.Kind() == reflect.Struct && !converts(t) }

// elements returns a function that compares two lists with map keys, element by element. If keys
// are given, an element that has none of these key fields is not valid. The function then returns
// false, so that upstream sees the list and reports the error.
func elements(t reflect.Type, keys []*value.FieldCacheEntry) func(a, b reflect.Value) bool {
	one := equal.Exact(t.Elem())
	return func(a, b reflect.Value) bool {
		if a.Len() != b.Len() || a.IsNil() != b.IsNil() {
			return false
		}
		for i := range a.Len() {
			if !one(a.Index(i), b.Index(i)) || len(keys) > 0 && !slices.ContainsFunc(keys, func(k *value.FieldCacheEntry) bool {
				return !k.CanOmit(k.GetFrom(a.Index(i)))
			}) {
				return false
			}
		}
		return true
	}
}

// equal reports whether all fields of the plan are equal in both structs.
func (s *structPlan) equal(a, b reflect.Value) bool {
	for i := range s.fields {
		f := &s.fields[i]
		if !f.equal(a.FieldByIndex(f.index), b.FieldByIndex(f.index)) {
			return false
		}
	}
	return true
}

// zeroOf returns the zero value of a type, or a pointer to one.
func zeroOf(t reflect.Type) reflect.Value {
	if t.Kind() == reflect.Pointer {
		return reflect.New(t.Elem())
	}
	return reflect.New(t).Elem()
}

// root changes the plan of a whole object so that some fields are never dropped: apiVersion, kind,
// name and namespace. Upstream reads these fields directly, besides comparing them, for example
// for the texts of errors. With stub set, managedFields are replaced by the variable stub.
func (s *structPlan) root(stub bool) {
	if s == nil {
		return
	}
	keep := func(s *structPlan, names ...string) {
		for _, name := range names {
			for i := range s.fields {
				if s.fields[i].name == name {
					s.fields[i].equal, s.fields[i].below = nil, nil
				}
			}
		}
	}
	names := map[string]bool{}
	for i := range s.fields {
		names[s.fields[i].name] = true
	}
	s.minimal = s.mayBeMinimal(names)
	keep(s, "apiVersion", "kind")
	for i := range s.fields {
		f := &s.fields[i]
		if f.name != "metadata" || f.below == nil {
			continue
		}
		f.equal = nil // metadata always differs as a whole: only the live object has managedFields
		keep(f.below, "name", "namespace", "managedFields")
		field, ok := objectMetaType.FieldByName("ManagedFields")
		if stub && ok && f.typ == objectMetaType {
			f.below.fields = append(f.below.fields, fieldPlan{name: "managedFields", index: field.Index, managed: true})
		}
	}
}

// prune sets each field that is equal in a and b to zero in both, and returns these fields sorted
// by name. a and b are structs of the plan's type. They must be copies, because prune changes
// them.
func (s *structPlan) prune(a, b reflect.Value, managers fieldpath.ManagedFields) (out []dropped) {
	part := func(f *fieldPlan, d []dropped) {
		if len(d) > 0 {
			out = append(out, dropped{f.name, d})
		}
	}
	for i := range s.fields {
		f := &s.fields[i]
		if f.equal == nil && f.below == nil && !f.managed {
			continue
		}
		x, y := a.FieldByIndex(f.index), b.FieldByIndex(f.index)
		switch {
		case f.managed:
			stubManagedFields(x, y, managers)
		case f.equal != nil && f.equal(x, y):
			x.SetZero()
			y.SetZero()
			if out == nil {
				out = make([]dropped, 0, len(s.fields))
			}
			out = append(out, dropped{name: f.name})
		case f.entries != nil:
			part(f, f.entries(x, y))
		case f.below == nil:
		case !f.pointer:
			part(f, f.below.prune(x, y, managers))
		case !x.IsNil() && !y.IsNil():
			c, d := reflect.New(x.Type().Elem()), reflect.New(y.Type().Elem())
			c.Elem().Set(x.Elem())
			d.Elem().Set(y.Elem())
			part(f, f.below.prune(c.Elem(), d.Elem(), managers))
			x.Set(c)
			y.Set(d)
		}
	}
	return out
}

// jsonField is a field of a struct as structured-merge-diff sees it.
type jsonField struct {
	name  string
	index []int
	typ   reflect.Type
	entry *value.FieldCacheEntry
}

// jsonFieldsOf returns the fields that JSON has for a struct, including those of inlined structs.
// It returns false if the struct has a field of a form that this package does not support.
func jsonFieldsOf(t reflect.Type) ([]jsonField, bool) {
	entries := value.TypeReflectEntryOf(t).Fields()
	seen := map[string]bool{}
	out, ok := collect(t, nil, entries, seen, nil)
	return out, ok && len(seen) == len(entries)
}

func collect(t reflect.Type, parent []int, entries map[string]*value.FieldCacheEntry, seen map[string]bool, out []jsonField) ([]jsonField, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(parent[:len(parent):len(parent)], i)
		name, inline, omit := jsonName(f)
		switch {
		case omit:
		case inline:
			if f.Type.Kind() != reflect.Struct || !f.IsExported() {
				return nil, false
			}
			var ok bool
			if out, ok = collect(f.Type, index, entries, seen, out); !ok {
				return nil, false
			}
		case seen[name] || entries[name] == nil || !f.IsExported():
			return nil, false
		default:
			seen[name] = true
			out = append(out, jsonField{name: name, index: index, typ: f.Type, entry: entries[name]})
		}
	}
	return out, true
}
