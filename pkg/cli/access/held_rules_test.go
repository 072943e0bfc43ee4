// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// TestIdentity holds the groups of requests of a subject. A role for everybody who has logged in counts for the
// members of each group, and never for those who have not.
func TestIdentity(t *testing.T) {
	for _, tc := range []struct{ kind, namespace, name, want string }{
		{"User", "", "jane", "jane: system:authenticated"},
		{"User", "", "system:anonymous", "system:anonymous: system:unauthenticated"},
		{"ServiceAccount", "ci", "robot",
			"system:serviceaccount:ci:robot: system:authenticated system:serviceaccounts system:serviceaccounts:ci"},
		{"Group", "", "devs", ": devs system:authenticated"},
		{"Group", "", "system:authenticated", ": system:authenticated"},
		{"Group", "", "system:unauthenticated", ": system:unauthenticated"},
		{"Group", "", "system:serviceaccounts", ": system:authenticated system:serviceaccounts"},
		{"Group", "", "system:serviceaccounts:ci", ": system:authenticated system:serviceaccounts system:serviceaccounts:ci"},
	} {
		name, groups := Identity(rbacv1.Subject{Kind: tc.kind, Namespace: tc.namespace, Name: tc.name})
		slices.Sort(groups)
		if got := name + ": " + strings.Join(groups, " "); got != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.kind, tc.name, got, tc.want)
		}
	}
}
