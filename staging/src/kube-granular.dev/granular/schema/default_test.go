// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// onlyDefaults is a second implementation of Default.Is for schemas without references. It reads
// the schema each time.
func onlyDefaults(s *spec.Schema, value any) bool {
	return s != nil && s.Default != nil && defaults(s, s.Default, value)
}

func defaults(s *spec.Schema, fallback, value any) bool {
	switch value := value.(type) {
	case map[string]any:
		base, ok := fallback.(map[string]any)
		if !ok {
			return false
		}
		for name, v := range value {
			if d, ok := base[name]; ok {
				if !defaults(fieldOf(s, name), d, v) {
					return false
				}
			} else if s == nil || !has(s, name) || !onlyDefaults(fieldOf(s, name), v) {
				return false
			}
		}
		for name := range base {
			if _, ok := value[name]; !ok {
				return false
			}
		}
		return true
	case []any:
		base, ok := fallback.([]any)
		if !ok || len(base) != len(value) {
			return false
		}
		for i := range value {
			var item *spec.Schema
			if s != nil && s.Items != nil {
				item = s.Items.Schema
			}
			if !defaults(item, base[i], value[i]) {
				return false
			}
		}
		return true
	}
	a, _ := json.Marshal(fallback)
	b, _ := json.Marshal(value)
	return string(a) == string(b)
}

func has(s *spec.Schema, name string) bool { _, ok := s.Properties[name]; return ok }

func fieldOf(s *spec.Schema, name string) *spec.Schema {
	switch {
	case s == nil:
		return nil
	case has(s, name):
		p := s.Properties[name]
		return &p
	case s.AdditionalProperties != nil:
		return s.AdditionalProperties.Schema
	}
	return nil
}

// TestDefaultsOfRandomSchemas compares the default of a node, and that of a cursor, with
// onlyDefaults.
func TestDefaultsOfRandomSchemas(t *testing.T) {
	yes, no := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 11))
		field := defaulted(r, 3)
		mark := *field
		mark.VendorExtensible = spec.VendorExtensible{}
		mark.AddExtension(schema.ExtVerb, "x")
		mark.AddExtension(schema.ExtExcluded, true)
		if seed%2 == 0 && len(field.Properties) > 0 {
			// Here field is an object that contains excluded fields.
			field.AdditionalProperties, field.Items = nil, nil
			mark = *field
			mark.Properties = maps.Clone(field.Properties)
			for name, p := range mark.Properties {
				p.AddExtension(schema.ExtVerb, "x")
				p.AddExtension(schema.ExtExcluded, true)
				mark.Properties[name] = p
			}
		}
		root := &spec.Schema{}
		root.SetProperty("f", mark)
		tree, err := schema.Compile(map[string]*spec.Schema{"root": root}, "root")
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			value := nearDefault(r, field, field.Default)
			want := onlyDefaults(field, value)
			if got := tree.Root.Child("f").OnlyDefault(value, false); got != want {
				t.Fatalf("seed %d: the node says %v of %v", seed, got, value)
			}
			if got := tree.Schema().Field("f").OnlyDefaults(value, false); got != want {
				t.Fatalf("seed %d: the cursor says %v of %v", seed, got, value)
			}
			if want {
				yes++
			} else {
				no++
			}
		}
	}
	if yes < 5000 || no < 5000 {
		t.Errorf("%d defaults, %d others", yes, no)
	}
}

// defaulted returns a random schema with some defaults.
func defaulted(r *rand.Rand, depth int) *spec.Schema {
	s := &spec.Schema{}
	if r.IntN(3) > 0 || depth == 3 {
		s.Default = randomJSON(r, depth)
	}
	if depth == 0 {
		return s
	}
	switch r.IntN(4) {
	case 0:
		s.Items = &spec.SchemaOrArray{Schema: defaulted(r, depth-1)}
	case 1:
		s.AdditionalProperties = &spec.SchemaOrBool{Schema: defaulted(r, depth-1)}
	}
	for _, name := range []string{"a", "b", "c"} {
		if r.IntN(2) > 0 {
			s.SetProperty(name, *defaulted(r, depth-1))
		}
	}
	return s
}

func randomJSON(r *rand.Rand, depth int) any {
	n := r.IntN(8)
	if depth == 0 {
		n = r.IntN(3)
	}
	switch {
	case n == 0:
		return "text"
	case n == 1:
		return int64(r.IntN(2))
	case n == 2:
		return true
	case n == 3:
		out := []any{}
		for range r.IntN(3) {
			out = append(out, randomJSON(r, depth-1))
		}
		return out
	}
	out := map[string]any{}
	for _, name := range []string{"a", "b", "d"} {
		if r.IntN(3) == 0 {
			out[name] = randomJSON(r, depth-1)
		}
	}
	return out
}

// nearDefault returns a value that is the default, or almost.
func nearDefault(r *rand.Rand, s *spec.Schema, fallback any) any {
	if r.IntN(30) == 0 {
		return randomJSON(r, 2)
	}
	switch fallback := fallback.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(fallback)) {
			if r.IntN(30) > 0 {
				out[name] = nearDefault(r, fieldOf(s, name), fallback[name])
			}
		}
		if s == nil {
			return out
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if p := s.Properties[name]; fallback[name] == nil && p.Default != nil && r.IntN(2) == 0 {
				out[name] = nearDefault(r, &p, p.Default)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, v := range fallback {
			var item *spec.Schema
			if s != nil && s.Items != nil {
				item = s.Items.Schema
			}
			out = append(out, nearDefault(r, item, v))
		}
		return out
	}
	return fallback
}

// TestDefaultIsOfThePlace checks that two references to one definition each have the default
// beside the reference, and that nodes below a map that also names keys have no default.
func TestDefaultIsOfThePlace(t *testing.T) {
	definitions := definitionsOf(t, `
root:
  properties:
    a: {$ref: '#/definitions/X', default: 1}
    b: {$ref: '#/definitions/X', default: 2}
    c: {$ref: '#/definitions/X'}
    d: {$ref: '#/definitions/Z'}
    e: {$ref: '#/definitions/Z', default: {z: 1}}
    f: {$ref: '#/definitions/Z', default: {}}
    one: {additionalProperties: {$ref: '#/definitions/Z'}}
    two: {additionalProperties: {$ref: '#/definitions/Z'}, properties: {k: {type: object}}}
    three: {allOf: [{$ref: '#/definitions/Named'}], additionalProperties: {$ref: '#/definitions/Z'}}
    p: {properties: {w: {allOf: [{$ref: '#/definitions/Default'}], +verb: w, +excluded: true}}}
X: {+verb: x, +excluded: true}
Z: {properties: {z: {+verb: z, +excluded: true, default: 3}}}
Named: {properties: {k: {type: object}}}
Default: {default: 4}
`)
	models := schema.NewModels(definitions)
	for range 2 {
		tree, err := models.Compile("root")
		if err != nil {
			t.Fatal(err)
		}
		root := tree.Root
		object := func(z int64) map[string]any { return map[string]any{"z": z} }
		if d, e, f := root.Child("d"), root.Child("e"), root.Child("f"); d.OnlyDefault(object(3), false) || !e.OnlyDefault(object(1), false) ||
			e.OnlyDefault(object(3), false) || !f.OnlyDefault(object(3), false) || f.OnlyDefault(object(1), false) {
			t.Error("an object has the default of another place")
		}
		if root.Child("c").OnlyDefault(nil, false) || root.Child("c").OnlyDefault(nil, true) {
			t.Error("null is the default of what has none")
		}
		for i, test := range []struct {
			node *schema.Node
			want int // 0 for no default
		}{
			{root.Child("a"), 1},
			{root.Child("b"), 2},
			{root.Child("c"), 0},
			{root.Child("d").Child("z"), 3},
			{root.Child("one").Elem().Child("z"), 3},
			{root.Child("two").Elem().Child("z"), 0},
			{root.Child("three").Elem().Child("z"), 0},
			{root.Child("p").Child("w"), 4},
		} {
			for value := range 5 {
				if got := test.node.OnlyDefault(int64(value), false); got != (value > 0 && value == test.want) {
					t.Errorf("%d: %d is the default: %v, %s", i, value, got, fmt.Sprint(test.node.Default()))
				}
			}
		}
	}
}

// TestDefaultsOfWhatNeedsNone checks that only fields with an excluded permission, and objects
// that contain one, have a default.
func TestDefaultsOfWhatNeedsNone(t *testing.T) {
	tree, err := schema.Compile(definitionsOf(t, `
root:
  properties:
    field: {default: {}, +verb: x, +excluded: true}
    holds: {default: {}, properties: {a: {+verb: x, +excluded: true}}}
    other: {default: {}, +verb: o}
    object: {default: {}, properties: {a: {+verb: a}}}
    map: {default: {}, additionalProperties: {+verb: x, +excluded: true}}
`), "root")
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]bool{"field": true, "holds": true, "other": false, "object": false, "map": false} {
		if got := tree.Root.Child(field).OnlyDefault(map[string]any{}, false); got != want {
			t.Errorf("%s: %v", field, got)
		}
	}
}

// TestDefaultsOfOneDefinition checks that several fields may refer to one definition.
func TestDefaultsOfOneDefinition(t *testing.T) {
	tree, err := schema.Compile(definitionsOf(t, `
root: {properties: {a: {+verb: a, +excluded: true, default: {}, properties: {b: {$ref: '#/definitions/B'}, c: {$ref: '#/definitions/B'}}}}}
B: {default: {d: 1}}
`), "root")
	if err != nil {
		t.Fatal(err)
	}
	one := map[string]any{"d": int64(1)}
	if a := tree.Root.Child("a"); !a.OnlyDefault(map[string]any{"b": one, "c": one}, false) || a.OnlyDefault(map[string]any{"b": one, "c": map[string]any{}}, false) {
		t.Error("a default is lost")
	}
}

// TestDefaultIsBounded checks that a definition that refers to itself has no default, because the
// default would be infinite.
func TestDefaultIsBounded(t *testing.T) {
	tree, err := schema.Compile(definitionsOf(t, `
root: {properties: {a: {+verb: a, +excluded: true, default: {}, properties: {b: {$ref: '#/definitions/B'}}}}}
B: {default: {}, properties: {c: {$ref: '#/definitions/B'}, d: {$ref: '#/definitions/B'}}}
`), "root")
	if err != nil {
		t.Fatal(err)
	}
	if tree.Root.Child("a").OnlyDefault(map[string]any{}, false) {
		t.Error("a default without end")
	}
	// The object itself counts as one default.
	for fields, want := range map[int]bool{299: true, 300: false} {
		object := map[string]any{}
		for i := range fields {
			object[fmt.Sprint("f", i)] = int64(i)
		}
		a := spec.Schema{}
		a.Default = object
		a.AddExtension(schema.ExtVerb, "a")
		a.AddExtension(schema.ExtExcluded, true)
		tree, err := schema.Compile(map[string]*spec.Schema{"root": (&spec.Schema{}).SetProperty("a", a)}, "root")
		if err != nil {
			t.Fatal(err)
		}
		if got := tree.Root.Child("a").OnlyDefault(object, false); got != want {
			t.Errorf("a default of %d fields: %v", fields, got)
		}
	}
}

// TestDefaultsThatAreNumbers checks that numbers are compared by value, whatever their Go types
// are, and which defaults Go's omitempty leaves out.
func TestDefaultsThatAreNumbers(t *testing.T) {
	const exact = 1 << 53
	compile := func(fallback any) *schema.Node {
		f := spec.Schema{}
		f.Default = fallback
		f.AddExtension(schema.ExtVerb, "x")
		f.AddExtension(schema.ExtExcluded, true)
		root := (&spec.Schema{}).SetProperty("f", f)
		tree, err := schema.Compile(map[string]*spec.Schema{"root": root}, "root")
		if err != nil {
			t.Fatal(err)
		}
		return tree.Root.Child("f")
	}
	for _, test := range []struct {
		fallback, value any
		want            bool
	}{
		{int64(1), int64(1), true}, {int64(1), int64(2), false},
		{int64(1), int32(1), true}, {int64(1), int32(2), false},
		{int64(1), float64(1), true}, {float64(1), int64(1), true}, {float64(1), int32(1), true}, {float64(1), int64(2), false},
		{float64(1), float64(1), true}, {float64(1.5), float64(1.5), true}, {float64(1.5), int64(1), false}, {int64(1), float64(1.5), false},
		{int64(exact - 1), float64(exact - 1), true}, {int64(exact), float64(exact), false}, {float64(exact), int64(exact + 1), false},
		{int64(1 - exact), float64(1 - exact), true}, {int64(-exact), float64(-exact), false},
		{int64(exact + 1), int64(exact + 1), true}, {int64(exact + 1), int64(exact), false},
		{int64(1), "1", false}, {"1", int64(1), false}, {int64(1), true, false}, {true, float64(1), false}, {float64(0), "", false}, {false, nil, false},
	} {
		if got := compile(test.fallback).OnlyDefault(test.value, false); got != test.want {
			t.Errorf("%T %v is the default %T %v: %v", test.value, test.value, test.fallback, test.fallback, got)
		}
	}
	for _, left := range []any{int64(0), float64(0), "", false, nil, map[string]any{}, []any{}} {
		if n := compile(map[string]any{"a": left}); !n.OnlyDefault(map[string]any{}, true) || n.OnlyDefault(map[string]any{}, false) {
			t.Errorf("omitempty leaves out %T", left)
		}
	}
	for _, kept := range []any{int64(1), "a", true, map[string]any{"b": ""}, []any{""}} {
		if n := compile(map[string]any{"a": kept}); n.OnlyDefault(map[string]any{}, true) {
			t.Errorf("omitempty keeps %v", kept)
		}
	}
}
