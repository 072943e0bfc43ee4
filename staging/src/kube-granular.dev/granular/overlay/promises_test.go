// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"encoding/json"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/schema"
)

func unmarshal(text string, all *map[string]*spec.Schema) error {
	return json.Unmarshal([]byte(text), all)
}

// checkApplied checks the promises of Apply and Check for any definitions and entries.
func checkApplied(t *testing.T, all map[string]*spec.Schema, e *overlay.Entries, enforced bool) {
	t.Helper()
	before, errBefore := schema.ByKind(all, application)
	was := asJSON(t, all)
	changed, outcomes, err := overlay.Apply(all, application, e, enforced)
	problems := overlay.Check(all, application, e)
	if now := asJSON(t, all); now != was {
		t.Fatal("the definitions changed")
	}
	if err != nil {
		return
	}
	for i, o := range outcomes {
		switch {
		case o.State == overlay.Idle && (o.Excluded || o.Held != "" || o.Reason == ""),
			o.State == overlay.Active && (o.Held != "" || o.Reason != ""),
			o.State == overlay.Degraded && (!o.Excluded || o.Held == "" || o.Reason == ""),
			o.State != overlay.Idle && enforced && e.Fields[i].Excluded && !o.Excluded:
			t.Fatalf("%+v", o)
		case problems == nil && o.State != overlay.Active:
			t.Fatalf("accepted and %+v", o)
		}
	}
	tree, err := schema.ByKind(changed, application)
	if err != nil {
		if problems == nil {
			t.Fatalf("accepted and not compiled: %v", err)
		}
		return
	}
	if err := overlay.Verify(tree, e, outcomes); err != nil && problems == nil {
		t.Fatal(err)
	}
	if errBefore != nil {
		return
	}
	for place := range before.NodePaths() {
		if n := nearest(tree, place.Steps()); place.Node().ExcludedAt && !n.ExcludedAt {
			t.Fatalf("%s is open", place.Pattern())
		}
	}
}

// nearest is Tree.Nearest for paths of NodePaths. A property may have the empty name, and then its step looks
// like that of an element.
func nearest(tree *schema.Tree, way []schema.Step) *schema.Node {
	n := tree.Root
	for _, step := range way {
		next := n.Child(step.Field)
		if elem := n.Elem(); step.Elem && elem != nil {
			next = elem
		}
		if next == nil {
			break
		}
		n = next
	}
	return n
}
