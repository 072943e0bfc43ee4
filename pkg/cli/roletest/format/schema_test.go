// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
)

// definition is the part of a JSON schema that the types of this package have too.
type definition struct {
	Type       string                     `json:"type"`
	Additional *bool                      `json:"additionalProperties"`
	Required   []string                   `json:"required"`
	Properties map[string]json.RawMessage `json:"properties"`
}

// TestSchemaIsThatOfTheTypes holds that the schema has exactly the fields of the types: their names,
// which are required, and the type of each.
func TestSchemaIsThatOfTheTypes(t *testing.T) {
	var top struct {
		definition
		Definitions map[string]definition `json:"definitions"`
	}
	if err := json.Unmarshal(Schema(), &top); err != nil {
		t.Fatal(err)
	}
	all := map[string]definition{"RoleTest": top.definition}
	maps.Copy(all, top.Definitions)
	// These are no types, but values of fields.
	for _, name := range []string{"Object", "Resource", "Name"} {
		delete(all, name)
	}
	for _, one := range []any{RoleTest{}, GivenAs{}, Case{}, Subject{}, Authority{}, Target{}, Create{}, Patch{}, Update{}, Stamp{}, Apply{}, Scale{}, Get{}, Expectation{}, Refusal{}} {
		typ := reflect.TypeOf(one)
		d, ok := all[typ.Name()]
		delete(all, typ.Name())
		if !ok || d.Type != "object" || d.Additional == nil || *d.Additional {
			t.Errorf("%s: the schema has no such object, or allows other fields", typ.Name())
			continue
		}
		fields := fieldsOf(typ)
		var required []string
		for name, f := range fields {
			if f.required {
				required = append(required, name)
			}
			if got, want := typeIn(t, d.Properties[name], top.Definitions), typeOfField(typ.FieldByIndex(f.index).Type); got != want && want != "" {
				t.Errorf("%s.%s: the schema says %q, the type %q", typ.Name(), name, got, want)
			}
		}
		slices.Sort(required)
		slices.Sort(d.Required)
		if names := slices.Sorted(maps.Keys(d.Properties)); !slices.Equal(names, slices.Sorted(maps.Keys(fields))) || !slices.Equal(required, d.Required) {
			t.Errorf("%s: the schema has the fields %v, required %v; the type has %v, required %v", typ.Name(), names, d.Required, slices.Sorted(maps.Keys(fields)), required)
		}
	}
	if len(all) > 0 {
		t.Errorf("the schema has definitions without a type: %v", slices.Sorted(maps.Keys(all)))
	}
}

// typeIn returns the JSON type of a property. Enumerations are of texts here.
func typeIn(t *testing.T, property json.RawMessage, definitions map[string]definition) string {
	t.Helper()
	var p struct {
		Type string            `json:"type"`
		Ref  string            `json:"$ref"`
		Enum []json.RawMessage `json:"enum"`
	}
	if err := json.Unmarshal(property, &p); err != nil {
		t.Fatal(err)
	}
	switch {
	case p.Ref != "":
		return definitions[p.Ref[len("#/definitions/"):]].Type
	case p.Enum != nil:
		return "string"
	}
	return p.Type
}

// typeOfField returns the JSON type of a field, or "" for a field that may have several.
func typeOfField(typ reflect.Type) string {
	switch typ.Kind() {
	case reflect.Pointer:
		return typeOfField(typ.Elem())
	case reflect.Interface:
		return ""
	}
	return map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int64: "integer",
		reflect.Map: "object", reflect.Struct: "object", reflect.Slice: "array"}[typ.Kind()]
}
