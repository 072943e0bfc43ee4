// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package included

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// Missing takes rules that a user holds, and rules that RBAC's comparison of verbs as text found
// missing. It returns those missing rules that the held rules do not include either. A missing rule
// must have one verb, one API group and one resource, as the rules of validation.BreakdownRule
// have. A rule that does not is always returned.
func Missing(held, missing []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, rule := range missing {
		if !includes(held, rule) {
			out = append(out, rule)
		}
	}
	return out
}

// includes reports whether the held rules include a rule. It returns false for a rule without
// exactly one verb, one API group and one resource.
func includes(held []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	if len(rule.Verbs) != 1 || len(rule.APIGroups) != 1 || len(rule.Resources) != 1 || len(rule.NonResourceURLs) > 0 {
		return false
	}
	verb, group, resource := rule.Verbs[0], rule.APIGroups[0], rule.Resources[0]
	// holds reports whether the held rules grant a verb on the resources and names of the rule.
	holds := func(verb string) bool {
		rule.Verbs = []string{verb}
		covers, _ := validation.Covers(held, []rbacv1.PolicyRule{rule})
		return covers
	}
	return Includes(verb, group, resource, holds)
}
