// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"reflect"
	"testing"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
)

// TestEntryOf holds that an entry has all fields of its attribute that bear on decisions.
func TestEntryOf(t *testing.T) {
	a := refers(attribute("n", "a", "env", 1), "Role", "setter")
	_, spec, _ := a.Parts()
	spec.AttributeKind, spec.Mode = v1alpha1.AttributeAnnotation, v1alpha1.ModeAudit
	spec.ProtectedValues, spec.AllowedValues = []string{"p"}, []string{"q"}
	spec.Resources = []v1alpha1.GroupResource{{Group: "apps", Resource: "deployments"}}
	spec.ExcludeResources = []v1alpha1.GroupResource{{Resource: "pods"}, {Resource: "nodes"}}
	want := protect.Entry{
		Name: "a", Namespace: "n", Kind: schema.Annotation, Key: "env", Mode: protect.Audit,
		ProtectedValues: []string{"p"}, AllowedValues: []string{"q"},
		Role:             protect.RoleRef{Kind: "Role", Name: "setter"},
		Resources:        []protect.Resource{{Group: "apps", Resource: "deployments"}},
		ExcludeResources: []protect.Resource{{Resource: "pods"}, {Resource: "nodes"}},
	}
	if got := entryFrom(a); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, wanted %+v", got, want)
	}
	plain := entryFrom(attribute("", "c", "env", 1))
	if plain.Role != (protect.RoleRef{}) || plain.Resources != nil || plain.ExcludeResources != nil || plain.Mode == protect.Audit || plain.Kind != schema.Label {
		t.Errorf("got %+v", plain)
	}
}

// TestAttributesThere holds that Attributes returns all attributes that exist, in force or not,
// and none that was removed.
func TestAttributesThere(t *testing.T) {
	p := New()
	p.Observe(attribute("n", "a", "env", 1), false)
	p.Observe(attribute("", "c", "env", 2), false)
	p.Observe(attribute("n", "gone", "env", 3), false)
	p.Observe(attribute("n", "gone", "env", 4), true)
	got := map[string]bool{}
	for _, a := range p.Attributes() {
		got[a.GetNamespace()+"/"+a.GetName()] = a.InForce
	}
	if want := map[string]bool{"n/a": true, "/c": true}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, wanted %v", got, want)
	}
}
