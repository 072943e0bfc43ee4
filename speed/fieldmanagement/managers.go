// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"bytes"
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// In an update only the live object has managedFields, because upstream has already removed them
// from the new object. So typed.Compare reports that the atomic field managedFields was removed.
// The report is the same whatever the list contains, so a list with one empty entry replaces the
// real list, which is long.

// stub replaces the managedFields of a live object. Nobody may modify it.
var stub = []metav1.ManagedFieldsEntry{{}}

// stubManagedFields replaces the managedFields of the live object by stub, if these managedFields
// are valid. If they are not, they stay, so that upstream reports the error.
func stubManagedFields(live, new reflect.Value, managers fieldpath.ManagedFields) {
	entries, ok := live.Interface().([]metav1.ManagedFieldsEntry)
	if !ok || len(entries) == 0 || new.Len() > 0 {
		return
	}
	for i := range entries {
		if f := entries[i].FieldsV1; f != nil {
			if raw := f.GetRawBytes(); !isDecodedIn(managers, raw) && (len(raw) == 0 || raw[0] != '{' || !json.Valid(raw)) {
				return
			}
		}
	}
	live.Set(reflect.ValueOf(stub))
}

// isDecodedIn reports whether raw is the encoding of a set that was already read in this update,
// and so is valid. The result is usually true, because a request usually sends back the entries of
// the live object.
func isDecodedIn(managers fieldpath.ManagedFields, raw []byte) bool {
	for _, set := range managers {
		if u, ok := set.(*lazySet); ok && bytes.Equal(u.fields.raw, raw) {
			return true
		}
	}
	return false
}

// plainStub replaces the managedFields of an unstructured live object. All live objects share this
// one list, so no code may modify it.
var plainStub = []any{map[string]any{}}

// knownManagers reports whether the managedFields of an unstructured object have at least one
// entry, and whether all fields of the entries are known and of the types that the schema expects.
func knownManagers(list []any) bool {
	for _, item := range list {
		entry, ok := item.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range entry {
			switch k {
			case "manager", "operation", "apiVersion", "time", "fieldsType", "subresource":
				if _, ok := v.(string); !ok {
					return false
				}
			case "fieldsV1":
				if !onlyMaps(v) {
					return false
				}
			default:
				return false
			}
		}
	}
	return len(list) > 0
}

// onlyMaps reports whether a value consists of nested maps only, as an encoded set of fields
// does.
func onlyMaps(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for _, below := range m {
		if !onlyMaps(below) {
			return false
		}
	}
	return true
}

// managedFieldsOf reports whether a list of metav1.ManagedFieldsEntry may be replaced by stub in a
// kind with the schema type root. This is so on two conditions. In the schema,
// metadata.managedFields must be an atomic list. And every list of entries must be valid against
// the schema, as long as the fieldsV1 of each entry is a JSON object.
func (p *prover) managedFieldsOf(root schema.TypeRef) bool {
	metadata, ok := p.field(root, "metadata")
	if !ok {
		return false
	}
	list, ok := p.field(metadata, "managedFields")
	if !ok {
		return false
	}
	atom, ok := p.schema.Resolve(list)
	if !ok || atom.List == nil || atom.List.ElementRelationship != schema.Atomic {
		return false
	}
	entry := atom.List.ElementType
	item, ok := p.schema.Resolve(entry)
	if !ok || item.Map == nil {
		return false
	}
	fields, ok := jsonFieldsOf(reflect.TypeFor[metav1.ManagedFieldsEntry]())
	if !ok {
		return false
	}
	for _, f := range fields {
		tr, ok := fieldType(item.Map, f.name)
		if !ok {
			return false
		}
		if f.typ == reflect.TypeFor[*metav1.FieldsV1]() {
			ok = p.anything(tr)
		} else {
			ok = p.valid(f.typ, tr)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (p *prover) field(tr schema.TypeRef, name string) (schema.TypeRef, bool) {
	atom, ok := p.schema.Resolve(tr)
	if !ok || atom.Map == nil {
		return schema.TypeRef{}, false
	}
	return fieldType(atom.Map, name)
}

// anything reports whether every JSON object is valid against a type of the schema.
func (p *prover) anything(tr schema.TypeRef) bool {
	atom, ok := p.schema.Resolve(tr)
	if !ok || atom.Map == nil || len(atom.Map.Fields) > 0 {
		return false
	}
	return untyped(p, atom.Map.ElementType, 0)
}

// untyped reports whether a type of the schema accepts any value. Schemas use two such types for
// unknown values: a deduced type, and an atomic type for the elements of its lists. The elements
// of these types have such a type again, so untyped looks only at the first few levels.
func untyped(p *prover, tr schema.TypeRef, depth int) bool {
	atom, ok := p.schema.Resolve(tr)
	if !ok || atom.Scalar == nil || *atom.Scalar != schema.Untyped || atom.List == nil || atom.Map == nil || len(atom.Map.Fields) > 0 ||
		atom.List.ElementRelationship != schema.Atomic {
		return false
	}
	return depth == 3 || untyped(p, atom.Map.ElementType, depth+1) && untyped(p, atom.List.ElementType, depth+1)
}
