// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"slices"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/internal/testmodels"
	"kube-granular.dev/granular/schema"
)

// FuzzCompile compiles arbitrary definitions. A resulting tree has the properties that walks and
// decisions rely on, and a second compilation returns the same tree.
func FuzzCompile(f *testing.F) {
	f.Add(`{"root":{"properties":{"a":{"$ref":"#/definitions/A","x-kubernetes-permission-verb":"a"}}},"A":{"properties":{"a":{"$ref":"#/definitions/A"}}}}`)
	f.Add(`{"root":{"properties":{"l":{"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"properties":{"k":{"type":"string","x-kubernetes-permission-parameter-source":"s"}},"x-kubernetes-permission-verb":"v","x-kubernetes-permission-parameterized-by":"s"}}}}}`)
	f.Add(`{"root":{"x-kubernetes-permission-scope":"s","properties":{"m":{"x-kubernetes-permission-parameter-source":"k","additionalProperties":{"x-kubernetes-permission-verb":"v","x-kubernetes-permission-excluded":true}}}}}`)
	definitions, err := testmodels.Definitions()
	if err != nil {
		f.Fatal(err)
	}
	if data, err := json.Marshal(definitions); err == nil {
		f.Add(string(data))
	}
	sharing := schema.NewInterner()
	f.Fuzz(func(t *testing.T, text string) {
		definitions := map[string]*spec.Schema{}
		if json.Unmarshal([]byte(text), &definitions) != nil {
			return
		}
		models := schema.NewModels(definitions, schema.WithInterner(sharing))
		for name := range definitions {
			tree, err := models.Compile(name)
			// The second compilation uses no cache and no interner.
			again, errAgain := schema.NewModels(definitions, schema.Plain).Compile(name)
			if (err == nil) != (errAgain == nil) {
				t.Fatalf("%s: %v, and again %v", name, err, errAgain)
			}
			if err != nil {
				continue
			}
			if tree.String() != again.String() {
				t.Fatalf("%s:\n%s\nand again:\n%s", name, tree, again)
			}
			check(t, tree)
		}
	})
}

func check(t *testing.T, tree *schema.Tree) {
	t.Helper()
	places := 0
	for place := range tree.NodePaths() {
		n := place.Node()
		if places++; places > schema.MaxNodes || len(n.Chain()) > schema.MaxPermissionsOnPath {
			t.Fatalf("%s: place %d, chain of %d", place.Pattern(), places, len(n.Chain()))
		}
		if slices.Index(place, n) != len(place)-1 {
			t.Fatalf("%s: the node lies below itself", place.Pattern())
		}
		if len(place) > 1 && !slices.Equal(n.Chain()[:len(n.Chain())-len(n.Own())], place[len(place)-2].Chain()) {
			t.Fatalf("%s: the chain does not go on from the one above", place.Pattern())
		}
		excludedAt, excludedBelow := false, false
		for _, p := range n.Chain() {
			excludedAt = excludedAt || p.Excluded
			if p.Parameter == nil {
				continue
			}
			if p.Parameter.FromValue {
				if !slices.ContainsFunc(place, func(at *schema.Node) bool { return at.TakesValue() == p }) {
					t.Fatalf("%s: no node gives %s its value", place.Pattern(), p.Name)
				}
				continue
			}
			if p.Parameter.SourceDepth >= len(place)-1 {
				t.Fatalf("%s: the source of %s is not above", place.Pattern(), p.Name)
			}
			switch source := place[p.Parameter.SourceDepth]; source.Kind {
			case schema.Map, schema.ListMap, schema.Set:
				if p.Parameter.SourceKey > 0 && p.Parameter.SourceKey >= len(source.Keys()) {
					t.Fatalf("%s: the source of %s has no key %d", place.Pattern(), p.Name, p.Parameter.SourceKey)
				}
			default:
				t.Fatalf("%s: the source of %s is a %s", place.Pattern(), p.Name, source.Kind)
			}
		}
		attributes := n.Attribute()
		for _, child := range n.Fields() {
			attributes |= child.Attributes()
			excludedBelow = excludedBelow || child.ExcludedAt || child.ExcludedBelow
		}
		if n.Elem() != nil {
			attributes |= n.Elem().Attributes()
			excludedBelow = excludedBelow || n.Elem().ExcludedAt || n.Elem().ExcludedBelow
		}
		if n.ExcludedAt != excludedAt || n.ExcludedBelow != excludedBelow {
			t.Fatalf("%s: what is excluded at and below it is not what the node says", place.Pattern())
		}
		if n.Attributes() != attributes {
			t.Fatalf("%s: has %s below, and says %s", place.Pattern(), attributes, n.Attributes())
		}
		if n.Scope() != "" && !n.Carries() {
			t.Fatalf("%s: a scope without a permission", place.Pattern())
		}
		leads := n.Carries() || n.Fields() != nil || n.Elem() != nil || len(n.System()) > 0 || n.Attribute() != 0
		if !leads {
			t.Fatalf("%s: leads to nothing", place.Pattern())
		}
		if isList := n.Kind != schema.Leaf && n.Kind != schema.Object; isList != (n.Elem() != nil) {
			t.Fatalf("%s: a %s with an element: %v", place.Pattern(), n.Kind, n.Elem() != nil)
		}
		if (n.Kind == schema.ListMap) != (len(n.Keys()) > 0) {
			t.Fatalf("%s: a %s with %d keys", place.Pattern(), n.Kind, len(n.Keys()))
		}
	}
}
