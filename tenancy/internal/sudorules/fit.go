// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudorules

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Fit returns at most maxRules rules, none of whose lists is longer than maxLength, that have
// all that the given rules have. Where there are too many, rules with the same verbs become one,
// which is then also about resources of one group in another. So it is an upper bound, for
// those who may do no more than somebody else.
func Fit(rules []rbacv1.PolicyRule, maxRules, maxLength int) ([]rbacv1.PolicyRule, error) {
	var fit []rbacv1.PolicyRule
	for _, rule := range rules {
		if len(rule.Verbs) > maxLength || len(rule.APIGroups) > maxLength || len(rule.ResourceNames) > maxLength {
			return nil, fmt.Errorf("a rule about %q has more than %d verbs, groups or names", rule.Resources, maxLength)
		}
		for resources := range slices.Chunk(rule.Resources, maxLength) {
			part := *rule.DeepCopy()
			part.Resources = slices.Clone(resources)
			fit = append(fit, part)
		}
	}
	for len(fit) > maxRules {
		a, b := closest(fit, maxLength)
		if b == 0 {
			return nil, fmt.Errorf("%d rules don't become %d with %d words each", len(fit), maxRules, maxLength)
		}
		fit[a] = joined(fit[a], fit[b])
		fit = slices.Delete(fit, b, b+1)
	}
	return fit, nil
}

// closest returns the two rules, the first one first, that are about the fewest when they are
// one, or zeros if no two can be.
func closest(rules []rbacv1.PolicyRule, maxLength int) (first, second int) {
	least := 0
	for a := range rules {
		for b := a + 1; b < len(rules); b++ {
			if len(rules[a].ResourceNames)+len(rules[b].ResourceNames) > 0 || !slices.Equal(rules[a].Verbs, rules[b].Verbs) {
				continue
			}
			groups, resources := len(union(rules[a].APIGroups, rules[b].APIGroups)), len(union(rules[a].Resources, rules[b].Resources))
			if groups > maxLength || resources > maxLength {
				continue
			}
			if size := groups * resources; least == 0 || size < least {
				least, first, second = size, a, b
			}
		}
	}
	return first, second
}

func joined(a, b rbacv1.PolicyRule) rbacv1.PolicyRule {
	a.APIGroups, a.Resources = union(a.APIGroups, b.APIGroups), union(a.Resources, b.Resources)
	return a
}

// union returns what is in a or in b, sorted.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.SortFunc(all, strings.Compare)
	return slices.Compact(all)
}
