// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"strings"
	"testing"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/schema"
)

// TestVerify checks that an exclusion which the tree does not have is an error, so that the writes of the
// kind are refused: also if the tree has an entry with another name, or one that is a name only, or if
// the author of the kind has declared an exclusion with that name.
func TestVerify(t *testing.T) {
	const field = ".spec.guard.mode "
	e := entries(t, field+"example.io/guard excluded")
	excluded := []overlay.Outcome{{Path: ".spec.guard.mode", State: overlay.Active, Excluded: true}}
	author := definitions(t, "properties: {mode: {type: string}}",
		"properties: {mode: {type: string, x-kubernetes-permission-verb: example.io/guard, x-kubernetes-permission-excluded: true}}",
		"x-kubernetes-permission-verb: example.io/guard\n", "x-kubernetes-permission-verb: example.io/outer\n")
	for name, tc := range map[string]struct {
		fields  []string
		wrong   bool
		absence string
	}{
		"the exclusion":             {fields: []string{field + "example.io/guard excluded"}},
		"another exclusion":         {fields: []string{field + "acme.io/other excluded"}, wrong: true},
		"another field":             {fields: []string{".spec.project example.io/guard excluded"}, wrong: true},
		"no entry":                  {wrong: true},
		"a field that is not there": {absence: "properties: {mode: {type: string}}", wrong: true},
	} {
		all := definitions(t)
		if tc.absence != "" {
			all = definitions(t, tc.absence, "properties: {other: {type: string}}")
		}
		tree, _ := applied(t, all, entries(t, tc.fields...), true)
		wantVerified(t, name, tree, e, excluded, tc.wrong)
	}
	tree, err := schema.ByKind(author, application)
	if err != nil {
		t.Fatal(err)
	}
	wantVerified(t, "the author's", tree, e, excluded, true)
	tree, _ = applied(t, definitions(t), entries(t, ".spec.project acme.io/a"), true)
	wantVerified(t, "a name only", tree, entries(t, ".spec.project acme.io/a excluded"), excluded, true)
	wantVerified(t, "no entries", tree, nil, nil, false)
}

func wantVerified(t *testing.T, name string, tree *schema.Tree, e *overlay.Entries, outcomes []overlay.Outcome, wrong bool) {
	t.Helper()
	err := overlay.Verify(tree, e, outcomes)
	if (err != nil) != wrong || wrong && !strings.Contains(err.Error(), "applications.example.io is not in the permission tree") {
		t.Errorf("%s: %v", name, err)
	}
}
