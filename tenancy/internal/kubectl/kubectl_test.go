// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectl_test

import (
	"testing"

	"kube-granular.dev/tenancy/internal/kubectl"
)

// TestRuleCovers checks which rules allow the caller to impersonate a group.
func TestRuleCovers(t *testing.T) {
	rule := func(verb, group, resource string, names ...string) kubectl.Rule {
		return kubectl.Rule{Verbs: []string{"get", verb}, APIGroups: []string{group}, Resources: []string{resource},
			ResourceNames: names}
	}
	for name, tc := range map[string]struct {
		rule kubectl.Rule
		want bool
	}{
		"it":               {rule("impersonate", "", "groups", "other", "team"), true},
		"any":              {rule("impersonate", "", "groups"), true},
		"all":              {rule("*", "*", "*"), true},
		"another":          {rule("impersonate", "", "groups", "other"), false},
		"a star as a name": {rule("impersonate", "", "groups", "*"), false},
		"another verb":     {rule("list", "", "groups", "team"), false},
		"another group":    {rule("impersonate", "apps", "groups", "team"), false},
		"another resource": {rule("impersonate", "", "users", "team"), false},
	} {
		if got := tc.rule.Covers("impersonate", "", "groups", "team"); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
