// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// TestNode checks the methods of a node about its children and its permissions.
func TestNode(t *testing.T) {
	tree, err := compileYAML(t, `
root: {properties: {b: {+verb: b}, d: {+verb: d}, m: {+parameter-source: k, additionalProperties: {+verb: v, +parameterized-by: k, +parameter-treatment: slash-delimited-prefix}}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": false, "b": true, "c": false, "d": true, "e": false, "m": true, "z": false, "": false} {
		if child := tree.Root.Child(name); (child != nil) != want || want && child.Field != name {
			t.Errorf("%q is %v", name, child)
		}
	}
	if tree.Root.Carries() || !tree.Root.Child("b").Carries() || tree.Root.Child("m").Carries() {
		t.Error("who carries a permission")
	}
	v := tree.Root.Child("m").Elem().Chain()[0]
	if verb, err := v.Verb(t.Context(), nil, "example.com/a"); err != nil || verb.String() != "granular:v(example.com)" {
		t.Errorf("%s, %v", verb, err)
	}
	if _, err := v.Verb(t.Context(), nil, strings.Repeat("k", 300)); !errors.Is(err, permission.ErrTooLong) {
		t.Errorf("a long key: %v", err)
	}
}

// TestTree checks the methods of a tree about all its places.
func TestTree(t *testing.T) {
	for text, want := range map[string]bool{
		"root: {properties: {a: {+verb: a}}}":                                           false,
		"root: {properties: {a: {properties: {b: {+verb: a, +excluded: true}}}}}":       true,
		"root: {+verb: r, +excluded: true, properties: {a: {+verb: a}}}":                true,
		"root: {+verb: r, properties: {a: {+verb: a, +excluded: true}, b: {+verb: b}}}": true,
	} {
		tree, err := compileYAML(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := tree.HasExcluded(); got != want {
			t.Errorf("%s: something is excluded: %v", text, got)
		}
	}
	tree, err := compileYAML(t, "root: {+verb: r, properties: {a: {+verb: a, properties: {b: {+verb: b}}}, l: {items: {+verb: l}}}}")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, info := range tree.Permissions() {
		got = append(got, info.Pattern+" "+info.Name+" below "+strings.Join(info.Above, ", "))
	}
	if diff := cmp.Diff([]string{" r below ", ".a a below r", ".a.b b below r, a", ".l[*] l below r"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// NodePaths yields no further place after the loop ends.
	all := 0
	for range tree.NodePaths() {
		all++
	}
	for n := range all {
		seen := 0
		for range tree.NodePaths() {
			if seen++; seen > n {
				break
			}
		}
		if seen != n+1 {
			t.Errorf("%d places, wanted %d", seen, n+1)
		}
	}
}

// TestSystemFields checks that the fields that the server writes are ignored in the root and its
// metadata, and nowhere else.
func TestSystemFields(t *testing.T) {
	tree, err := compileYAML(t, "root: {properties: {spec: {+verb: spec, properties: {x: {+verb: x}}}}}")
	if err != nil {
		t.Fatal(err)
	}
	root := tree.Root
	for _, test := range []struct {
		node  *schema.Node
		field string
		want  bool
	}{
		{root, "apiVersion", true}, {root, "kind", true}, {root, "uid", false}, {root, "spec", false},
		{root.Child("metadata"), "uid", true}, {root.Child("metadata"), "managedFields", true}, {root.Child("metadata"), "name", false}, {root.Child("metadata"), "kind", false},
		{root.Child("spec"), "kind", false}, {root.Child("spec"), "uid", false},
	} {
		if got := test.node.Ignores(test.field); got != test.want {
			t.Errorf("%q ignores %s: %v", test.node.Field, test.field, got)
		}
	}
}

func TestByKind(t *testing.T) {
	kind := func(version string) map[string]any {
		return map[string]any{"group": "g", "version": version, "kind": "K"}
	}
	s := func(entries ...any) *spec.Schema {
		out := &spec.Schema{}
		out.AddExtension("x-kubernetes-group-version-kind", entries)
		return out
	}
	models := map[string]*spec.Schema{
		"one": s(kind("v1"), kind("v2")), "two": s(kind("v2")),
		"other": s(map[any]any{"group": "g", "version": "v3", "kind": "K"}),
		"texts": s(map[string]string{"group": "g", "version": "v5", "kind": "K"}),
		"core":  s(map[string]any{"version": "v6", "kind": "K"}),
	}
	for version, want := range map[string]string{"v1": "one", "v3": "other", "v5": "texts"} {
		tree, err := schema.ByKind(models, gvkschema.GroupVersionKind{Group: "g", Version: version, Kind: "K"})
		if err != nil || tree.Name != want {
			t.Errorf("%s: %v, %v", version, tree, err)
		}
	}
	if tree, err := schema.ByKind(models, gvkschema.GroupVersionKind{Version: "v6", Kind: "K"}); err != nil || tree.Name != "core" {
		t.Errorf("without a group: %v, %v", tree, err)
	}
	models["bad"] = s(kind("v7"))
	models["bad"].AddExtension(schema.ExtVerb, "Bad")
	if tree, err := schema.ByKind(models, gvkschema.GroupVersionKind{Group: "g", Version: "v7", Kind: "K"}); tree != nil || err == nil {
		t.Errorf("with a problem: %v, %v", tree, err)
	}
	if tree, err := schema.Compile(models, "none"); tree != nil || err == nil {
		t.Errorf("a definition that is not there: %v, %v", tree, err)
	}
	for _, version := range []string{"v2", "v4", "v6"} {
		if tree, err := schema.ByKind(models, gvkschema.GroupVersionKind{Group: "g", Version: version, Kind: "K"}); err == nil {
			t.Errorf("%s: %s", version, tree)
		}
	}
}

func TestOnlyDefaults(t *testing.T) {
	tree, err := compileYAML(t, `
root:
  properties:
    a: {type: boolean, default: false}
    num: {type: integer, default: 3}
    none: {type: string}
    o:
      default: {}
      properties: {mode: {type: string, default: quiet}, depth: {type: integer}}
    limits: {default: {limit: 0}, properties: {limit: {type: integer}}}
    ports: {type: array, default: [80, 443], items: {type: integer}}
    rules: {type: array, default: [{name: x}], items: {properties: {name: {type: string}, weight: {type: integer, default: 7}}}}
    flags: {default: {}, additionalProperties: {type: boolean, default: true}}
`)
	if err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	for _, test := range []struct {
		field     string
		value     any
		omitempty bool
		want      bool
	}{
		{field: "a", value: false, want: true},
		{field: "a", value: true},
		{field: "a", value: nil},
		{field: "a", value: ""},
		{field: "num", value: int64(3), want: true},
		{field: "num", value: 3.0, want: true},
		{field: "num", value: 3.5},
		{field: "num", value: "3"},
		{field: "none", value: ""},
		{field: "missing", value: false},
		{field: "o", value: object{}, want: true},
		{field: "o", value: object{"mode": "quiet"}, want: true},
		{field: "o", value: object{"mode": "loud"}},
		{field: "o", value: object{"depth": int64(1)}},
		{field: "limits", value: object{"limit": int64(0)}, want: true},
		{field: "limits", value: object{}},
		{field: "limits", value: object{}, omitempty: true, want: true},
		{field: "ports", value: []any{int64(80), int64(443)}, want: true},
		{field: "ports", value: []any{int64(80)}},
		{field: "ports", value: []any{int64(80), int64(8443)}},
		{field: "rules", value: []any{object{"name": "x", "weight": int64(7)}}, want: true},
		{field: "rules", value: []any{object{"name": "x", "weight": int64(8)}}},
		{field: "rules", value: []any{object{"name": "y", "weight": int64(7)}}},
		{field: "flags", value: object{}, want: true},
		{field: "flags", value: object{"any": true}},
	} {
		if got := tree.Schema().Field(test.field).OnlyDefaults(test.value, test.omitempty); got != test.want {
			t.Errorf("%s: %v is only the default: %v", test.field, test.value, got)
		}
	}
}
