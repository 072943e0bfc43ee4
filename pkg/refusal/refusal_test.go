// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package refusal

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCausesAreReadBack checks that FromCauses returns what Causes was given, for each way to refuse.
func TestCausesAreReadBack(t *testing.T) {
	for name, d := range map[string]Details{
		"nothing":   {},
		"nobody":    {Field: ".spec", Needs: `needs the verb "granular:specification"`, Verbs: []string{"granular:specification"}},
		"a whole":   {User: "jane", Namespace: "shop", Subresource: "status", Needs: "its fields can't be verified"},
		"uncovered": {User: "jane", Field: ".foo", Needs: "no permission covers this field"},
		"a field": {User: "jane", Namespace: "shop", Field: ".spec.replicas", Needs: "needs", Subresource: "scale",
			Verbs: []string{"granular:replicas", "granular:specification"}, FieldPermission: "deployments.apps", Removed: true},
		"a derived field": {User: "jane", Field: ".spec.clusterIPs", Needs: "needs", Verbs: []string{"granular:acme.io/ips"},
			FieldPermission: "services", Derived: true},
		"values": {User: "jane", Field: ".spec.mode", Needs: "needs", Verbs: []string{"granular:mode(a)", "granular:specification"},
			Together: []string{"granular:mode(a)", "granular:mode(b)"}},
		"a protected label": {User: "jane", Field: ".metadata.labels[env]", Needs: "needs", Protected: "label",
			Roles: []string{"ClusterRole/a", "Role/b"}, Verbs: []string{"granular:protectedLabel(env)"}, ProtectedNamespace: "shop"},
		"a hidden label": {User: "jane", Field: ".metadata.labels", Needs: "its key is not shown", Protected: "label"},
	} {
		causes := append(d.Summary(false), d.Causes()...)
		got, ok := FromCauses(causes)
		if diff := cmp.Diff(&d, got); diff != "" || !ok {
			t.Errorf("%s: %t\n%s", name, ok, diff)
		}
		// A server cuts the sentence before it cuts anything else.
		if d.Field != "" {
			d.Needs = ""
		}
		got, ok = FromCauses(append(d.Summary(true), d.Causes()...))
		if diff := cmp.Diff(&d, got); diff != "" || !ok {
			t.Errorf("%s, brief: %t\n%s", name, ok, diff)
		}
	}
}

// TestCausesOfOthers checks that causes are read only if this project wrote them, and that a cause of
// another field does not change what they say.
func TestCausesOfOthers(t *testing.T) {
	summary := metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: ".spec.secret", Message: "is opened"}
	for name, causes := range map[string][]metav1.StatusCause{
		"none": nil, "a summary": {summary}, "another type": {{Type: "user", Message: "jane"}}, "without a user": {{Type: VerbCause,
			Message: "get"}},
	} {
		if got, ok := FromCauses(causes); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
	d := Details{User: "jane", Field: ".spec.versions", Verbs: []string{"granular:permissionExclusion"}}
	got, ok := FromCauses(slices.Concat([]metav1.StatusCause{summary}, d.Causes(), []metav1.StatusCause{{Type: "Other", Field: ".x",
		Message: "y"}}))
	if diff := cmp.Diff(&d, got); diff != "" || !ok {
		t.Errorf("%t\n%s", ok, diff)
	}
}
