// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudorules

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Fit returns at most maxRules rules, with lists of at most maxLength, that include the given
// rules. If there are too many, it merges rules with the same verbs; the result then includes
// each resource in each of the groups. So it is an upper bound, for delegates who may do no more
// than their delegator.
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
		a, b := smallestPair(fit, maxLength)
		if b == 0 {
			return nil, fmt.Errorf("%d rules don't become %d with %d words each", len(fit), maxRules, maxLength)
		}
		fit[a] = mergeRules(fit[a], fit[b])
		fit = slices.Delete(fit, b, b+1)
	}
	return fit, nil
}

// smallestPair returns the indices of the two smallest rules with the same verbs that can be
// merged, in order, or zeros if there are none.
func smallestPair(rules []rbacv1.PolicyRule, maxLength int) (first, second int) {
	size := func(i int) int { return len(rules[i].APIGroups) * len(rules[i].Resources) }
	// least maps verbs to the smallest rule so far.
	least, sum := map[string]int{}, 0
	for i := range rules {
		if len(rules[i].ResourceNames) > 0 {
			continue
		}
		verbs := strings.Join(rules[i].Verbs, " ")
		other, found := least[verbs]
		if found && (sum == 0 || size(other)+size(i) < sum) {
			if one := mergeRules(rules[other], rules[i]); len(one.APIGroups) <= maxLength && len(one.Resources) <= maxLength {
				first, second, sum = other, i, size(other)+size(i)
			}
		}
		if !found || size(i) < size(other) {
			least[verbs] = i
		}
	}
	if second > 0 {
		return first, second
	}
	// The smallest rule is too long to be merged; others may not be.
	for first = range rules {
		for second = first + 1; second < len(rules); second++ {
			a, b := rules[first], rules[second]
			if len(a.ResourceNames)+len(b.ResourceNames) > 0 || !slices.Equal(a.Verbs, b.Verbs) {
				continue
			}
			if one := mergeRules(a, b); len(one.APIGroups) <= maxLength && len(one.Resources) <= maxLength {
				return first, second
			}
		}
	}
	return 0, 0
}

func mergeRules(a, b rbacv1.PolicyRule) rbacv1.PolicyRule {
	a.APIGroups, a.Resources = union(a.APIGroups, b.APIGroups), union(a.Resources, b.Resources)
	return a
}

// union returns the union of a and b, sorted.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.SortFunc(all, strings.Compare)
	return slices.Compact(all)
}
