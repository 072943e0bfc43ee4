// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/kubernetes/pkg/apis/rbac"
	bindings "k8s.io/kubernetes/pkg/registry/rbac/granular"

	"kube-granular.dev/pkg/included"
	"kube-granular.dev/pkg/rolecheck"
)

// permissionRules implements bindings.Rules, the hook through which RBAC asks this project about
// rules with permission verbs, such as "granular:labels".
type permissionRules struct{}

var _ bindings.Rules = permissionRules{}

func permissionRulesOrNil() bindings.Rules {
	if !granularEnabled() {
		return nil
	}
	return permissionRules{}
}

// Missing implements bindings.Rules.
func (permissionRules) Missing(held, missing []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	return included.Missing(held, missing)
}

// Warnings implements bindings.Rules. It returns warnings about probable mistakes in the
// permission verbs of a role that is written. It returns none if the rules are unchanged: their
// author was warned before, and the present caller might not be allowed to read the rules.
func (permissionRules) Warnings(written, before []rbac.PolicyRule) []string {
	if !slices.ContainsFunc(written, hasPermission) || slices.EqualFunc(written, before, sameRule) {
		return nil
	}
	plain := make([]rbacv1.PolicyRule, len(written))
	for i, r := range written {
		plain[i] = rbacv1.PolicyRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames}
	}
	var out []string
	for _, f := range rolecheck.Check(plain) {
		out = append(out, f.String())
	}
	return out
}

func hasPermission(r rbac.PolicyRule) bool {
	return slices.ContainsFunc(r.Verbs, rolecheck.IsPermission)
}

func sameRule(a, b rbac.PolicyRule) bool {
	return slices.Equal(a.Verbs, b.Verbs) && slices.Equal(a.APIGroups, b.APIGroups) && slices.Equal(a.Resources, b.Resources) &&
		slices.Equal(a.ResourceNames, b.ResourceNames)
}
