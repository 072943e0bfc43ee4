// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-helpers/auth/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// prefix begins the names of the bootstrap roles of controllers.
const prefix = "system:controller:"

// right is one permission of a role: a verb on a resource, or on one object if name is not "".
type right struct {
	group, resource, verb, name string
}

// resourceName returns the resource as in a kubectl command, with the object name if the
// permission is for one object.
func (r right) resourceName() string {
	name, subresource, found := strings.Cut(r.resource, "/")
	if r.group != "" {
		name += "." + r.group
	}
	if found {
		name += "/" + subresource
	}
	if r.name != "" {
		name += " " + r.name
	}
	return name
}

func (r right) rule() rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}}
	if r.name != "" {
		rule.ResourceNames = []string{r.name}
	}
	return rule
}

// rightsOf splits rules into permissions, sorted and without duplicates.
func rightsOf(rules []rbacv1.PolicyRule) []right {
	var out []right
	for _, rule := range rules {
		for _, r := range validation.BreakdownRule(rule) {
			// A role of upstream still has the group extensions, which no server serves any more.
			if len(r.NonResourceURLs) == 0 && r.APIGroups[0] != "extensions" {
				out = append(out, right{r.APIGroups[0], r.Resources[0], r.Verbs[0], strings.Join(r.ResourceNames, "")})
			}
		}
	}
	slices.SortFunc(out, func(a, b right) int {
		return strings.Compare(a.resourceName()+" "+a.verb, b.resourceName()+" "+b.verb)
	})
	return slices.Compact(out)
}

// roles returns upstream's bootstrap roles of controllers, sorted by name. It enables all feature
// gates, so that roles behind gates are included.
func roles() ([]rbacv1.ClusterRole, error) {
	if err := utilfeature.DefaultMutableFeatureGate.Set("AllAlpha=true,AllBeta=true"); err != nil {
		return nil, err
	}
	out := bootstrappolicy.ControllerRoles()
	slices.SortFunc(out, func(a, b rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// peopleRoles are the user-facing roles, the smallest first.
var peopleRoles = []string{"view", "edit", "admin"}

// peopleRules returns the rules of each of the peopleRoles, including the rules that aggregation
// adds.
func peopleRules() map[string][]rbacv1.PolicyRule {
	all := bootstrappolicy.ClusterRoles()
	selected := func(subject string) (rules []rbacv1.PolicyRule) {
		for _, role := range all {
			if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+subject] == "true" {
				rules = append(rules, role.Rules...)
			}
		}
		return rules
	}
	view, edit, admin := selected("view"), selected("edit"), selected("admin")
	return map[string][]rbacv1.PolicyRule{
		"view": view, "edit": slices.Concat(edit, view), "admin": slices.Concat(admin, edit, view),
	}
}

// smallestRole returns the smallest user-facing role that has a permission, or "nobody".
func smallestRole(people map[string][]rbacv1.PolicyRule, r right) string {
	for _, name := range peopleRoles {
		if covers, _ := validation.Covers(people[name], []rbacv1.PolicyRule{r.rule()}); covers {
			return name
		}
	}
	return "nobody"
}
