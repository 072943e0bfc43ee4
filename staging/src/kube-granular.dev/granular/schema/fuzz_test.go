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

// FuzzCompile compiles whatever definitions there are. A tree that comes of it
// keeps what the walk and the cover rely on, and comes out the same again.
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
	f.Fuzz(func(t *testing.T, text string) {
		definitions := map[string]*spec.Schema{}
		if json.Unmarshal([]byte(text), &definitions) != nil {
			return
		}
		models := schema.NewModels(definitions)
		for name := range definitions {
			tree, err := models.Compile(name)
			again, errAgain := schema.Compile(definitions, name)
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
	for id, n := range tree.Nodes {
		if n.ID != id || (n.Parent == nil) != (id == 0) || len(n.Chain) > schema.MaxPermissionsOnPath {
			t.Fatalf("%s: ID %d, chain of %d", n.Pattern(), n.ID, len(n.Chain))
		}
		if n.Parent != nil && !slices.Equal(n.Chain[:len(n.Chain)-n.Own], n.Parent.Chain) {
			t.Fatalf("%s: the chain does not go on from the parent's", n.Pattern())
		}
		for _, p := range n.Chain {
			if (p.Source == "") != (p.SourceNode == nil) {
				t.Fatalf("%s: %s has a source without a node, or the other way round", n.Pattern(), p.Name)
			}
			above := n.Parent
			for p.SourceNode != nil && above != p.SourceNode {
				if above == nil {
					t.Fatalf("%s: the source of %s is not above", n.Pattern(), p.Name)
				}
				above = above.Parent
			}
			if p.Excluded && !n.ExcludedAt {
				t.Fatalf("%s: %s is excluded, the node does not say so", n.Pattern(), p.Name)
			}
		}
		leads := n.Own > 0 || n.Fields != nil || n.Elem != nil || n.System != nil
		if !leads {
			t.Fatalf("%s: leads to no permission", n.Pattern())
		}
		if isList := n.Kind != schema.Leaf && n.Kind != schema.Object; isList != (n.Elem != nil) {
			t.Fatalf("%s: a %s with an element: %v", n.Pattern(), n.Kind, n.Elem != nil)
		}
		if (n.Kind == schema.ListMap) != (len(n.Keys) > 0) {
			t.Fatalf("%s: a %s with %d keys", n.Pattern(), n.Kind, len(n.Keys))
		}
	}
}
