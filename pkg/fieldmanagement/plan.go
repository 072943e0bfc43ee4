// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kube-granular.dev/granular/change"
)

// structPlan says what of a struct may be dropped. The nil structPlan is nothing.
type structPlan struct {
	fields []fieldPlan
}

type fieldPlan struct {
	name  string
	typ   reflect.Type
	index []int
	// equal compares the field on both sides. It is nil where the field may not be
	// dropped.
	equal func(a, b reflect.Value) bool
	// below is what of the field may be dropped where it differs.
	below   *structPlan
	pointer bool
	managed bool
}

var objectMetaType = reflect.TypeFor[metav1.ObjectMeta]()

// compile plans a struct whose schema is that of tr. Types under way are not
// entered again: deep down there is little to save.
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
	out := &structPlan{}
	for _, f := range fields {
		ref, ok := fieldType(atom.Map, f.name)
		if !ok {
			continue
		}
		plan := fieldPlan{name: f.name, typ: f.typ, index: f.index}
		if p.valid(f.typ, ref) {
			plan.equal = change.Equality(f.typ)
		}
		inner := f.typ
		if plan.pointer = inner.Kind() == reflect.Pointer; plan.pointer {
			inner = inner.Elem()
		}
		// A zero value that JSON leaves out must not come from dropping.
		if inner.Kind() == reflect.Struct && !f.entry.CanOmit(zeroOf(f.typ)) && !converts(inner) && !converts(f.typ) {
			plan.below = p.compile(inner, ref, within)
		}
		if plan.equal != nil || plan.below != nil {
			out.fields = append(out.fields, plan)
		}
	}
	return out
}

// zeroOf gives the least value of a type that is there at all.
func zeroOf(t reflect.Type) reflect.Value {
	if t.Kind() == reflect.Pointer {
		return reflect.New(t.Elem())
	}
	return reflect.New(t).Elem()
}

// root keeps what is read of an object by other means than comparison: its kind,
// and its name for errors.
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
	keep(s, "apiVersion", "kind")
	for i := range s.fields {
		f := &s.fields[i]
		if f.name != "metadata" || f.below == nil {
			continue
		}
		f.equal = nil // it is never equal as a whole: only the live side has managers
		keep(f.below, "name", "namespace", "managedFields")
		field, ok := objectMetaType.FieldByName("ManagedFields")
		if stub && ok && f.typ == objectMetaType {
			f.below.fields = append(f.below.fields, fieldPlan{name: "managedFields", index: field.Index, managed: true})
		}
	}
}

// prune drops what is equal in a and b, structs of the plan's type that belong to
// the caller.
func (s *structPlan) prune(a, b reflect.Value) {
	for i := range s.fields {
		f := &s.fields[i]
		if f.equal == nil && f.below == nil && !f.managed {
			continue
		}
		x, y := a.FieldByIndex(f.index), b.FieldByIndex(f.index)
		switch {
		case f.managed:
			stubManagedFields(x, y)
		case f.equal != nil && f.equal(x, y):
			x.SetZero()
			y.SetZero()
		case f.below == nil:
		case !f.pointer:
			f.below.prune(x, y)
		case !x.IsNil() && !y.IsNil():
			c, d := reflect.New(x.Type().Elem()), reflect.New(y.Type().Elem())
			c.Elem().Set(x.Elem())
			d.Elem().Set(y.Elem())
			f.below.prune(c.Elem(), d.Elem())
			x.Set(c)
			y.Set(d)
		}
	}
}

// jsonField is a field of a struct as structured-merge-diff sees it.
type jsonField struct {
	name  string
	index []int
	typ   reflect.Type
	entry *value.FieldCacheEntry
}

// jsonFieldsOf lists the fields of a struct, and false if it has a field that is
// reached in a way not known here.
func jsonFieldsOf(t reflect.Type) ([]jsonField, bool) {
	entries := value.TypeReflectEntryOf(t).Fields()
	seen := map[string]bool{}
	out, ok := collect(t, nil, entries, seen, nil)
	return out, ok && len(seen) == len(entries)
}

func collect(t reflect.Type, at []int, entries map[string]*value.FieldCacheEntry, seen map[string]bool, out []jsonField) ([]jsonField, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(at[:len(at):len(at)], i)
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
