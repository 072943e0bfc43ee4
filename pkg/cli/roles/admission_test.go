// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roles

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/kinds"
)

// TestAdmissionNotes checks the resources whose writes the server judges once more after authorization.
// What the owners of an object need is in role.txtar.
func TestAdmissionNotes(t *testing.T) {
	for written, want := range map[string]string{
		"nodes":                                          "only its own node",
		"nodes/status":                                   "only the status of its own node",
		"pods/status":                                    "only the status of pods on its own node",
		"pods":                                           "",
		"pods/resize":                                    "",
		"persistentvolumeclaims":                         "",
		"persistentvolumeclaims/status":                  "only the capacity",
		"csinodes.storage.k8s.io":                        "its own name",
		"csinodes.storage.k8s.io/status":                 "its own name",
		"leases.coordination.k8s.io":                     "kube-node-lease",
		"nodes.metrics.k8s.io":                           "",
		"deployments.apps/status":                        "",
		"resourceclaims.resource.k8s.io":                 "",
		"clustertrustbundles.certificates.k8s.io":        "attest",
		"certificatesigningrequests.certificates.k8s.io": "",
		"certificatesigningrequests.certificates.k8s.io/approval": "approve",
		"certificatesigningrequests.certificates.k8s.io/status":   "sign",
		"resourceclaims.resource.k8s.io/status":                   "resourceclaims/binding",
	} {
		place, subresource, _ := strings.Cut(written, "/")
		of := schema.ParseGroupResource(place)
		r := &changes.DryRun{Request: changes.Request{
			Kind: &kinds.Kind{Resource: of.WithVersion("v1")}, Subresource: subresource}}
		got := admissionNotes(r)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: got %q, want %q", written, got, want)
		}
	}
}

// TestDemands checks the same for the rules of a role that was learned from a log: only rules that allow
// a write have such lines.
func TestDemands(t *testing.T) {
	for _, tc := range []struct {
		name  string
		group string
		place string
		verbs []string
		want  []string
	}{
		{"a read", "", "nodes", []string{"get", "list"}, nil},
		{"an ordinary write", "", "nodes", []string{"get", "patch"}, []string{"only its own node"}},
		{"a granular write", "", "nodes", []string{"granular", "granular:labels"}, []string{"only its own node"}},
		{"the status", "resource.k8s.io", "resourceclaims/status", []string{"update"}, []string{"resourceclaims/binding"}},
		{"owners", "apps", "deployments", []string{"granular", "granular:ownerReferences"}, []string{"the verb delete on deployments.apps"}},
		{"owners that are not changed", "apps", "deployments", []string{"granular", "granular:labels"}, nil},
		{"owners of a pod, through its status", "", "pods/status", []string{"granular", "granular:ownerReferences"}, []string{"only the status of pods"}},
	} {
		got := Demands(rbacv1.PolicyRule{APIGroups: []string{tc.group}, Resources: []string{tc.place}, Verbs: tc.verbs})
		if len(got) != len(tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
			continue
		}
		for i, want := range tc.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: got %q, want %q", tc.name, got[i], want)
			}
		}
	}
}
