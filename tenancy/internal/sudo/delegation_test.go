// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo_test

import (
	"testing"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/kubectl"
	"kube-granular.dev/tenancy/internal/sudo"
)

// TestDelegationTo checks which delegation a caller uses: a delegation to the user takes precedence
// over a delegation to one of the user's groups, and delegations to others are not used.
func TestDelegationTo(t *testing.T) {
	lns := &v1alpha1.LNamespace{Status: v1alpha1.LNamespaceStatus{Delegations: []v1alpha1.SudoDelegation{
		{Subject: v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: "ops"}, Delegation: "of-ops"},
		{Subject: v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: "dev"}, Delegation: "of-dev"},
		{Subject: v1alpha1.Subject{Kind: v1alpha1.UserKind, Name: "ada"}, Delegation: "of-ada"},
		{Subject: v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Namespace: "ci", Name: "robot"},
			Delegation: "of-robot"},
	}}}
	for name, tc := range map[string]struct {
		me   kubectl.User
		want string
	}{
		"a user":                    {kubectl.User{Username: "ada"}, "of-ada"},
		"before a group":            {kubectl.User{Username: "ada", Groups: []string{"ops"}}, "of-ada"},
		"a member":                  {kubectl.User{Username: "olga", Groups: []string{"x", "dev"}}, "of-dev"},
		"of two groups":             {kubectl.User{Username: "olga", Groups: []string{"dev", "ops"}}, "of-ops"},
		"a service account":         {kubectl.User{Username: "system:serviceaccount:ci:robot"}, "of-robot"},
		"of another namespace":      {kubectl.User{Username: "system:serviceaccount:cd:robot"}, ""},
		"a user named like a group": {kubectl.User{Username: "ops"}, ""},
		"a group named like a user": {kubectl.User{Username: "olga", Groups: []string{"ada"}}, ""},
		"a user named like a robot": {kubectl.User{Username: "robot"}, ""},
		"nobody in particular":      {kubectl.User{}, ""},
	} {
		got := ""
		if d := sudo.DelegationTo(lns, tc.me); d != nil {
			got = d.Delegation
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
