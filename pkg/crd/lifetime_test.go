// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStatusOpenings checks which updates of the status, and of the finalizers, let objects be
// written under another definition.
func TestStatusOpenings(t *testing.T) {
	type crd = apiextensions.CustomResourceDefinition
	condition := func(of apiextensions.CustomResourceDefinitionConditionType, status apiextensions.ConditionStatus) func(*crd) {
		return func(c *crd) {
			c.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{{Type: of, Status: status}}
		}
	}
	accepted := func(name string) func(*crd) { return func(c *crd) { c.Status.AcceptedNames.Plural = name } }
	deleted := func(c *crd) {
		now := metav1.Now()
		c.DeletionTimestamp = &now
		c.Finalizers = []string{apiextensions.CustomResourceCleanupFinalizer, "example.com/other"}
	}
	finalizers := func(names ...string) func(*crd) { return func(c *crd) { c.Finalizers = names } }
	const (
		outlives = ".metadata.finalizers lose the finalizer that deletes the objects, so that they outlive the definition"
		ends     = ".status.conditions do not say any more that the definition is established, so that its objects outlive it"
		another  = ".status.acceptedNames.plural names another resource, so that the definition writes its objects"
	)
	for _, test := range []struct {
		name, schema   string
		stored, change func(*crd)
		status, update string
	}{
		{"established no more", guarded, condition(apiextensions.Established, apiextensions.ConditionTrue), condition(apiextensions.NamesAccepted, apiextensions.ConditionTrue), ends, ""},
		{"established is false", guarded, condition(apiextensions.Established, apiextensions.ConditionTrue), condition(apiextensions.Established, apiextensions.ConditionFalse), ends, ""},
		{"established becomes true", guarded, condition(apiextensions.Established, apiextensions.ConditionFalse), condition(apiextensions.Established, apiextensions.ConditionTrue), "", ""},
		{"established no more, nothing excluded", named, condition(apiextensions.Established, apiextensions.ConditionTrue), condition(apiextensions.NamesAccepted, apiextensions.ConditionTrue), "", ""},
		{"another name", guarded, accepted("things"), accepted("others"), another, ""},
		{"another name, nothing excluded", bare, accepted(""), accepted("others"), another, ""},
		{"another name stays", guarded, accepted("others"), accepted("others"), "", ""},
		{"its own name", guarded, accepted("others"), accepted("things"), "", ""},
		{"no name", guarded, accepted("things"), accepted(""), "", ""},
		{"the finalizer goes", guarded, deleted, finalizers("example.com/other"), outlives, outlives},
		{"another finalizer goes", guarded, deleted, finalizers(apiextensions.CustomResourceCleanupFinalizer), "", ""},
		{"the finalizer goes, nothing excluded", named, deleted, finalizers(), "", ""},
		{"the finalizer goes before the deletion", guarded, finalizers(apiextensions.CustomResourceCleanupFinalizer), finalizers(), "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := validator()
			stored := definition(t, nil, test.schema)
			test.stored(stored)
			updated := stored.DeepCopy()
			test.change(updated)
			for where, pair := range map[string]struct {
				want  string
				found []Opening
			}{"the status": {test.status, v.StatusOpenings(updated, stored)}, "the definition": {test.update, v.Openings(updated, stored)}} {
				got := ""
				for _, o := range pair.found {
					got += o.String()
					if o.Outlives() != (o.String() == outlives) {
						t.Errorf("%s: Outlives is %v", o, o.Outlives())
					}
				}
				if got != pair.want {
					t.Errorf("an update of %s: got %q, want %q", where, got, pair.want)
				}
			}
			if openings := v.Openings(updated, stored); len(openings) > 0 && v.Keep(updated, stored, openings) != nil {
				t.Error("something is kept")
			}
		})
	}
}
