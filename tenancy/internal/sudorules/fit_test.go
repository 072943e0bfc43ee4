// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudorules_test

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/tenancy/internal/sudorules"
)

// TestFit checks that rules are merged until they fit into the limits, and that the result includes
// all given rules.
func TestFit(t *testing.T) {
	named := rbacv1.PolicyRule{APIGroups: []string{"a"}, Resources: []string{"n"}, ResourceNames: []string{"one"},
		Verbs: []string{"get"}}
	wide := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: append(resources, "w"), Verbs: []string{"get"}}
	}
	for name, tc := range map[string]struct {
		rules        []rbacv1.PolicyRule
		most, length int
		want         string
	}{
		"few enough": {[]rbacv1.PolicyRule{rule("a", "x", "get"), rule("b", "y", "get")}, 2, 9,
			"a/x get\nb/y get"},
		"two become one": {[]rbacv1.PolicyRule{rule("a", "x", "get"), rule("b", "y", "get")}, 1, 9,
			"a,b/x,y get"},
		"those about the fewest": {[]rbacv1.PolicyRule{{APIGroups: []string{"a"}, Resources: []string{"x", "y"}, Verbs: []string{"get"}}, rule("b", "y", "get"), rule("c", "z", "get")},
			2, 9, "a/x,y get\nb,c/y,z get"},
		"of the same verbs alone": {[]rbacv1.PolicyRule{rule("a", "x", "get"), rule("a", "x", "get", "list"), rule("b", "y", "get", "list")},
			2, 9, "a/x get\na,b/x,y get,list"},
		"never what has names": {[]rbacv1.PolicyRule{named, rule("a", "n", "get"), rule("b", "n", "get")}, 2,
			9, "a/n get one\na,b/n get"},
		"long lists are cut": {[]rbacv1.PolicyRule{{APIGroups: []string{"a"}, Resources: []string{"x", "y", "z"}, Verbs: []string{"get"}}},
			2, 2, "a/x,y get\na/z get"},
		"and never made longer": {[]rbacv1.PolicyRule{rule("a", "x", "get"), rule("b", "y", "get"), rule("c", "z", "get")},
			2, 2, "a,b/x,y get\nc/z get"},
		"where the smallest can't": {[]rbacv1.PolicyRule{{APIGroups: []string{"a"}, Resources: []string{"p", "q"}, Verbs: []string{"get"}}, wide("b", "u", "v"), wide("c", "u", "v")},
			2, 3, "a/p,q get\nb,c/u,v,w get"},
		"what does not fit, refused": {[]rbacv1.PolicyRule{rule("a", "x", "get"), rule("b", "y", "list")}, 1, 9,
			"refused"},
		"too many verbs": {[]rbacv1.PolicyRule{rule("a", "x", "get", "list", "watch")}, 9, 2, "refused"},
	} {
		before := text(tc.rules)
		fit, err := sudorules.Fit(tc.rules, tc.most, tc.length)
		got := text(fit)
		if err != nil {
			got = "refused"
		}
		if got != tc.want {
			t.Errorf("%s: %q, error %v", name, got, err)
		}
		if text(tc.rules) != before {
			t.Errorf("%s: the rules are now %q", name, text(tc.rules))
		}
	}
	// Many CustomResourceDefinitions, each in an API group of its own.
	var many []rbacv1.PolicyRule
	for i := range 500 {
		many = append(many, rule(fmt.Sprintf("g%d.example.com", i), fmt.Sprintf("r%d", i), "get", "create"))
	}
	fit, err := sudorules.Fit(many, 63, 64)
	if err != nil || len(fit) != 63 {
		t.Fatalf("%d rules, %v", len(fit), err)
	}
	for i := range 500 {
		found := false
		for _, r := range fit {
			found = found || contains(r.APIGroups, fmt.Sprintf("g%d.example.com", i)) && contains(r.Resources, fmt.Sprintf("r%d", i))
			if len(r.APIGroups) > 64 || len(r.Resources) > 64 {
				t.Fatalf("%d groups, %d resources", len(r.APIGroups), len(r.Resources))
			}
		}
		if !found {
			t.Errorf("the result does not include rule %d", i)
		}
	}
}

func contains(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}
