// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudorules

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Fit returns at most maxRules rules that allow at least what the given rules allow. Each list in
// a returned rule, such as its verbs, has at most maxLength entries. If there are too many rules,
// Fit merges rules with the same verbs. A merged rule allows each of its resources in each of its
// API groups, so the result can allow more than the given rules. In a delegation this is safe,
// because a delegate never gets more permissions than the delegator has.
func Fit(rules []rbacv1.PolicyRule, maxRules, maxLength int) ([]rbacv1.PolicyRule, error) {
	var fit []rbacv1.PolicyRule
	for _, rule := range rules {
		if len(rule.Verbs) > maxLength || len(rule.APIGroups) > maxLength || len(rule.ResourceNames) > maxLength {
			return nil, fmt.Errorf("the rule for the resources %q has more than %d verbs, API groups or resource names", rule.Resources, maxLength)
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
			return nil, fmt.Errorf("%d rules can't be merged into %d rules with at most %d entries in each list", len(fit), maxRules, maxLength)
		}
		fit[a] = mergeRules(fit[a], fit[b])
		fit = slices.Delete(fit, b, b+1)
	}
	return fit, nil
}

// smallestPair returns the indices of two rules that can be merged: they have the same verbs and
// no resource names, and the lists of the merged rule are not too long. It prefers rules with few
// API groups and resources. first is less than second; both are 0 if no two rules can be merged.
func smallestPair(rules []rbacv1.PolicyRule, maxLength int) (first, second int) {
	size := func(i int) int { return len(rules[i].APIGroups) * len(rules[i].Resources) }
	// least maps verbs to the index of the smallest rule with these verbs, among the rules before
	// i.
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
	// The loop above compared only some of the pairs, and none of them can be merged. This loop
	// compares all pairs.
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
