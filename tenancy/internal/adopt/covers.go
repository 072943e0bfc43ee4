// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// uncovered returns the rights of rules that others do not have, as text: a resource and its verbs. Rules
// about paths count for nothing in a namespace.
func uncovered(rules, others []rbacv1.PolicyRule) []string {
	verbs := map[string][]string{}
	// Equal rules are common, and Covers compares each right of a rule with all others.
	rules = slices.DeleteFunc(slices.Clone(rules), func(r rbacv1.PolicyRule) bool {
		return slices.ContainsFunc(others, func(o rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(r, o) })
	})
	_, missing := validation.Covers(others, rules)
	for _, r := range missing { // Covers returns single rights
		if len(r.NonResourceURLs) > 0 {
			continue
		}
		what, sub, _ := strings.Cut(r.Resources[0], "/")
		if r.APIGroups[0] != "" {
			what += "." + r.APIGroups[0]
		}
		if sub != "" {
			what += "/" + sub
		}
		if len(r.ResourceNames) > 0 {
			what = fmt.Sprintf("%s %q", what, r.ResourceNames[0])
		}
		if !slices.Contains(verbs[what], r.Verbs[0]) {
			verbs[what] = append(verbs[what], r.Verbs[0])
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
