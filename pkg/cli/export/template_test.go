// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestFieldPermissionsInTemplates checks that an exclusion of pods is closed in pod templates too, and in the history of
// some kinds as a whole.
//
// Attack: on a server without the patches, a closed field of pods goes in through a template or through a ControllerRevision
// Answer: an export has a policy for each kind with a template, and one that refuses every history
func TestFieldPermissionsInTemplates(t *testing.T) {
	roles := NewRoles("default")
	if err := roles.Add("file.yaml", []byte(`
apiVersion: authority.kube-granular.dev/v1alpha1
kind: FieldPermission
metadata: {name: pods}
spec:
  version: v1
  mode: Enforce
  fields:
  - {path: .spec.hostNetwork, permission: example.com/network, excluded: true}
  - {path: .spec.dnsConfig, permission: example.com/dns}
`)); err != nil {
		t.Fatal(err)
	}
	result, err := Export(roles, fakeKinds{t}, Options{Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: jane}}})
	if err != nil {
		t.Fatal(err)
	}
	engines := map[string]*engine{}
	for _, o := range result.Objects {
		if policy, ok := o.(*admissionv1.ValidatingAdmissionPolicy); ok {
			engines[policy.Name] = compile(t, policy)
		}
	}
	for _, note := range []string{"no resource jobs.batch, so the FieldPermission pods is left out there", "refuses every ControllerRevision"} {
		if all := strings.Join(result.Notes, "; "); !strings.Contains(all, note) {
			t.Errorf("the notes lack %q: %s", note, all)
		}
	}
	pod := map[string]any{"hostNetwork": true}
	template := map[string]any{"template": map[string]any{"spec": pod}}
	const verb = "granular:example.com/podTemplateNetwork"
	for name, tc := range map[string]struct {
		group, resource string
		fields          map[string]any
	}{
		"field-permission-pods.in.deployments.apps": {"apps", "deployments", template},
		"field-permission-pods.in.cronjobs.batch":   {"batch", "cronjobs", map[string]any{"jobTemplate": map[string]any{"spec": template}}},
	} {
		if engines[name] == nil {
			t.Fatalf("no policy %s: %v", name, engines)
		}
		target, err := fakeKinds{t}.Target(tc.group, tc.resource, "")
		if err != nil {
			t.Fatal(err)
		}
		for holds, want := range map[string]bool{"": false, verb: true, "granular:example.com/network": false, "bypass": true} {
			w := &write{new: box(tc.fields), user: jane, holds: []string{holds}, target: target, name: "a", namespace: "default"}
			if allowed, broken, why := engines[name].allows(w); allowed != want || broken {
				t.Errorf("%s, a holder of %q: allowed %v (%s)", name, holds, allowed, why)
			}
		}
		w := &write{new: box(map[string]any{"paused": true}), user: jane, target: target, name: "a", namespace: "default"}
		if allowed, _, why := engines[name].allows(w); !allowed {
			t.Errorf("%s, without the field: %s", name, why)
		}
	}
	history := engines["field-permission-pods.in.controllerrevisions.apps"]
	revision := func(field string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "data": map[string]any{"spec": field}}}
	}
	target, _ := fakeKinds{t}.Target("apps", "deployments", "")
	for holds, want := range map[string]bool{"": false, verb: true, "bypass": true} {
		w := &write{new: revision("a"), user: jane, holds: []string{holds}, target: target, name: "a", namespace: "default"}
		if allowed, broken, why := history.allows(w); allowed != want || broken {
			t.Errorf("history, a holder of %q: allowed %v (%s)", holds, allowed, why)
		}
		w.old = revision("b")
		if allowed, broken, _ := history.allows(w); allowed != want || broken {
			t.Errorf("history, an update by a holder of %q: allowed %v", holds, allowed)
		}
	}
	w := &write{new: revision("a"), old: revision("a"), user: jane, target: target, name: "a", namespace: "default"}
	if allowed, _, why := history.allows(w); !allowed {
		t.Errorf("history, a label: %s", why)
	}
}
