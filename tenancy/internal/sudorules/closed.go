// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudorules

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	authority "kube-granular.dev/api/authority/v1alpha1"
)

// maxClosed is how many fields Closed lists. The size of annotations is limited.
const maxClosed = 256

// Closed lists the fields that FieldPermissions keep from sudo, one in each line: the excluded fields of the
// resources that the rules of sudo write. The rules have no verb of a single field and no verb *, so each of
// these fields is closed to sudo. The list is sorted, and empty if there are none.
func Closed(all []authority.FieldPermission, rules []rbacv1.PolicyRule) string {
	var lines []string
	for i := range all {
		p := &all[i]
		resource, group, _ := strings.Cut(p.Name, ".")
		if !slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool { return writes(rule, group, resource) }) {
			continue
		}
		more := ""
		if resource == "pods" && group == "" {
			more = ", also in pod templates"
		}
		if p.Spec.Mode != authority.ModeEnforce {
			more += ", in mode Audit"
		}
		for _, f := range p.Spec.Fields {
			if f.Excluded {
				lines = append(lines, fmt.Sprintf("%s %s: granular:%s%s", p.Name, f.Path, f.Permission, more))
			}
		}
	}
	slices.Sort(lines)
	if n := len(lines) - maxClosed; n > 0 {
		lines = append(lines[:maxClosed], fmt.Sprintf("%d more", n))
	}
	return strings.Join(lines, "\n")
}

// writes reports whether a rule lets sudo write objects of a resource.
func writes(rule rbacv1.PolicyRule, group, resource string) bool {
	return slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) &&
		slices.ContainsFunc(rule.Verbs, func(verb string) bool { return verb == "create" || verb == "update" || verb == "patch" })
}
