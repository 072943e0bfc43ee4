// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package included

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

func ruleOf(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

func named(r rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
	r.ResourceNames = names
	return r
}

// TestMissing holds which rules include one permission verb, with a twin that lacks exactly one
// thing for each that does.
func TestMissing(t *testing.T) {
	label := ruleOf("", "pods", "granular:label(example.com)")
	replicas := ruleOf("apps", "deployments", "granular:replicas")
	metadata := ruleOf("", "pods", "granular:metadata")
	for name, tc := range map[string]struct {
		held     []rbacv1.PolicyRule
		wanted   rbacv1.PolicyRule
		included bool
	}{
		"update and patch":                   {[]rbacv1.PolicyRule{ruleOf("", "pods", "update", "patch")}, label, true},
		"in two rules":                       {[]rbacv1.PolicyRule{ruleOf("", "pods", "update"), ruleOf("", "pods", "patch")}, label, true},
		"update alone":                       {[]rbacv1.PolicyRule{ruleOf("", "pods", "update")}, label, false},
		"patch alone":                        {[]rbacv1.PolicyRule{ruleOf("", "pods", "patch")}, label, false},
		"of another resource":                {[]rbacv1.PolicyRule{ruleOf("", "secrets", "update", "patch")}, label, false},
		"of another group":                   {[]rbacv1.PolicyRule{ruleOf("apps", "pods", "update", "patch")}, label, false},
		"patch of one object":                {[]rbacv1.PolicyRule{ruleOf("", "pods", "update"), named(ruleOf("", "pods", "patch"), "a")}, label, false},
		"all of that object":                 {[]rbacv1.PolicyRule{named(ruleOf("", "pods", "update", "patch"), "a")}, named(label, "a"), true},
		"all of another object":              {[]rbacv1.PolicyRule{named(ruleOf("", "pods", "update", "patch"), "b")}, named(label, "a"), false},
		"a more general permission":          {[]rbacv1.PolicyRule{ruleOf("", "pods", "granular:labels")}, label, true},
		"the most general one":               {[]rbacv1.PolicyRule{ruleOf("", "pods", "granular:metadata")}, label, true},
		"another permission":                 {[]rbacv1.PolicyRule{ruleOf("", "pods", "granular:annotations")}, label, false},
		"a more special one":                 {[]rbacv1.PolicyRule{label}, ruleOf("", "pods", "granular:labels"), false},
		"another parameter":                  {[]rbacv1.PolicyRule{ruleOf("", "pods", "granular:label(example.org)")}, label, false},
		"no general one":                     {[]rbacv1.PolicyRule{ruleOf("apps", "deployments", "granular:labels")}, replicas, false},
		"specification":                      {[]rbacv1.PolicyRule{ruleOf("apps", "deployments", "granular:specification")}, replicas, true},
		"metadata without create":            {[]rbacv1.PolicyRule{ruleOf("", "pods", "update", "patch")}, metadata, false},
		"metadata with create":               {[]rbacv1.PolicyRule{ruleOf("", "pods", "update", "patch", "create")}, metadata, true},
		"granular":                           {[]rbacv1.PolicyRule{ruleOf("", "pods", "update", "patch")}, ruleOf("", "pods", "granular"), true},
		"granular by a permission":           {[]rbacv1.PolicyRule{ruleOf("", "pods", "granular:metadata")}, ruleOf("", "pods", "granular"), false},
		"an ordinary verb":                   {[]rbacv1.PolicyRule{ruleOf("", "pods", "update", "patch", "granular")}, ruleOf("", "pods", "create"), false},
		"a verb that is not valid":           {[]rbacv1.PolicyRule{ruleOf("", "pods", "update", "patch")}, ruleOf("", "pods", "granular:Label"), false},
		"a permission without its parameter": {[]rbacv1.PolicyRule{ruleOf("", "pods", "granular:labels")}, ruleOf("", "pods", "granular:label"), false},
		"a protected label":                  {[]rbacv1.PolicyRule{ruleOf("", "pods", "update", "patch", "create")}, ruleOf("", "pods", "granular:protectedLabel(a)"), false},
		"a custom resource":                  {[]rbacv1.PolicyRule{ruleOf("example.com", "robots", "update", "patch")}, ruleOf("example.com", "robots", "granular:labels"), false},
		"all resources":                      {[]rbacv1.PolicyRule{ruleOf("", "pods", "update", "patch")}, ruleOf("", "*", "granular:labels"), false},
		"a rule of two verbs":                {[]rbacv1.PolicyRule{ruleOf("", "pods", "update", "patch")}, ruleOf("", "pods", "granular:labels", "granular:status"), false},
		"a rule of no verb":                  {[]rbacv1.PolicyRule{ruleOf("", "pods", "update", "patch")}, ruleOf("", "pods"), false},
		"a rule of two groups":               {[]rbacv1.PolicyRule{ruleOf("*", "pods", "update", "patch")}, rbacv1.PolicyRule{Verbs: label.Verbs, APIGroups: []string{"", "apps"}, Resources: label.Resources}, false},
		"a rule of no group":                 {[]rbacv1.PolicyRule{ruleOf("*", "pods", "update", "patch")}, rbacv1.PolicyRule{Verbs: label.Verbs, Resources: label.Resources}, false},
		"a rule of two resources":            {[]rbacv1.PolicyRule{ruleOf("", "*", "update", "patch")}, rbacv1.PolicyRule{Verbs: label.Verbs, APIGroups: label.APIGroups, Resources: []string{"pods", "nodes"}}, false},
		"a rule of no resource":              {[]rbacv1.PolicyRule{ruleOf("", "*", "update", "patch")}, rbacv1.PolicyRule{Verbs: label.Verbs, APIGroups: label.APIGroups}, false},
		"a rule that has a URL beside":       {[]rbacv1.PolicyRule{ruleOf("", "pods", "update", "patch")}, rbacv1.PolicyRule{Verbs: label.Verbs, APIGroups: label.APIGroups, Resources: label.Resources, NonResourceURLs: []string{"/x"}}, false},
	} {
		before := tc.wanted.DeepCopy()
		left := Missing(tc.held, []rbacv1.PolicyRule{tc.wanted})
		if (len(left) == 0) != tc.included {
			t.Errorf("%s: left %v, want it included: %v", name, left, tc.included)
		}
		if len(left) == 1 && left[0].String() != before.String() {
			t.Errorf("%s: %v was returned as %v", name, before, left[0])
		}
	}
	first, second := ruleOf("", "pods", "create"), ruleOf("", "pods", "delete")
	if left := Missing(nil, []rbacv1.PolicyRule{first, label, second}); len(left) != 3 || left[1].Verbs[0] != label.Verbs[0] {
		t.Errorf("of a user who holds nothing: %v", left)
	}
}
