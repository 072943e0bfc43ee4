// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package included

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// Missing returns those of the missing rules that the held rules do not include. It checks a
// missing rule only if the rule has one verb, one resource and at most one name, as the rules of
// validation.BreakdownRule have. It returns other rules unchanged.
func Missing(held, missing []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, rule := range missing {
		if !includes(held, rule) {
			out = append(out, rule)
		}
	}
	return out
}

// includes reports whether the held rules include a rule with one verb and one resource.
func includes(held []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	if len(rule.Verbs) != 1 || len(rule.APIGroups) != 1 || len(rule.Resources) != 1 || len(rule.NonResourceURLs) > 0 {
		return false
	}
	verb, group, resource := rule.Verbs[0], rule.APIGroups[0], rule.Resources[0]
	// has reports whether any held rule grants a verb on this resource and name.
	has := func(verb string) bool {
		rule.Verbs = []string{verb}
		covers, _ := validation.Covers(held, []rbacv1.PolicyRule{rule})
		return covers
	}
	lacks := func(verb string) bool { return !has(verb) }
	if ordinary := Ordinary(verb, group, resource); len(ordinary) > 0 && !slices.ContainsFunc(ordinary, lacks) {
		return true
	}
	places := generalVerbs(verb, group, resource)
	return len(places) > 0 && !slices.ContainsFunc(places, func(above []string) bool { return !slices.ContainsFunc(above, has) })
}
