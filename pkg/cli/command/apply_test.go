// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/pkg/cli/roles"
)

// TestApplyTakesNothingAway checks which existing roles and bindings --apply replaces.
func TestApplyTakesNothingAway(t *testing.T) {
	grant := func(verbs ...string) *roles.Grant {
		return &roles.Grant{Namespace: "shop", Rules: []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: verbs}}}
	}
	users := func(names ...string) (out []rbacv1.Subject) {
		for _, name := range names {
			out = append(out, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name})
		}
		return out
	}
	for name, tc := range map[string]struct {
		old, new           *roles.Grant
		oldUsers, newUsers []rbacv1.Subject
		role, binding      string
	}{
		"the same":        {grant("get"), grant("get"), users("a"), users("a"), "", ""},
		"more":            {grant("get"), grant("get", "granular"), users("a"), users("a", "b"), "", ""},
		"another rule":    {grant("get", "list"), grant("get"), users("a"), users("a"), "other rules", ""},
		"another subject": {grant("get"), grant("get"), users("a"), users("b"), "", "other subjects"},
	} {
		old, new := tc.old.Objects("x", tc.oldUsers), tc.new.Objects("x", tc.newUsers)
		for i, want := range []string{tc.role, tc.binding} {
			existing, err := roles.Content(old[i])
			if err != nil {
				t.Fatal(err)
			}
			err = keeps(existing, new[i])
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if err := keeps(nil, new[0]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		first, second := roles.NameFor("x", tc.oldUsers, *tc.old), roles.NameFor("x", tc.newUsers, *tc.new)
		if (first == second) != (name == "the same") {
			t.Errorf("%s: %s and %s", name, first, second)
		}
	}
}
