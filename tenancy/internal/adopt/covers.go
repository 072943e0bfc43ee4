// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// right is one verb on one resource, as a role allows it.
type right struct{ verb, group, resource, name string }

// rightsOf returns the single rights of rules, as they count in a namespace: rules about paths count for
// nothing there.
func rightsOf(rules []rbacv1.PolicyRule) []right {
	var out []right
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						out = append(out, right{verb, group, resource, name})
					}
				}
			}
		}
	}
	return out
}

// isCovered reports whether one of the rules allows the right. A star in a right is covered by a star only.
func isCovered(r right, rules []rbacv1.PolicyRule) bool {
	has := func(list []string, word string) bool {
		return slices.Contains(list, word) || slices.Contains(list, "*")
	}
	return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return has(rule.Verbs, r.verb) && has(rule.APIGroups, r.group) && hasResource(rule.Resources, r.resource) &&
			(len(rule.ResourceNames) == 0 || r.name != "" && slices.Contains(rule.ResourceNames, r.name))
	})
}

// hasResource reports whether a list of resources has a resource or subresource. In the list, a star
// before a slash stands for every resource.
func hasResource(list []string, resource string) bool {
	if slices.Contains(list, resource) || slices.Contains(list, "*") {
		return true
	}
	_, sub, found := strings.Cut(resource, "/")
	return found && slices.Contains(list, "*/"+sub)
}

// uncovered returns the rights of rules that others do not have, as text: a resource and its verbs.
func uncovered(rules, others []rbacv1.PolicyRule) []string {
	verbs := map[string][]string{}
	for _, r := range rightsOf(rules) {
		if isCovered(r, others) {
			continue
		}
		what, sub, _ := strings.Cut(r.resource, "/")
		if r.group != "" {
			what += "." + r.group
		}
		if sub != "" {
			what += "/" + sub
		}
		if r.name != "" {
			what = fmt.Sprintf("%s %q", what, r.name)
		}
		if !slices.Contains(verbs[what], r.verb) {
			verbs[what] = append(verbs[what], r.verb)
		}
	}
	var out []string
	for what, list := range verbs {
		slices.Sort(list)
		out = append(out, what+": "+strings.Join(list, ","))
	}
	slices.Sort(out)
	return out
}
