// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// permission is the smallest part of an RBAC rule: one verb on one resource, object or path.
type permission struct {
	verb, group, resource, name string
	// named is true if the permission is limited to one object.
	named bool
	// url is the path, if forURL is set.
	url string
	// forURL is true if the permission is for a path, which is in url.
	forURL bool
}

// splitRules splits rules into permissions. Each has one verb, one resource or path, and at most
// one object name, as in upstream's escalation check.
func splitRules(rules []rbacv1.PolicyRule) []permission {
	var out []permission
	for i := range rules {
		rule := &rules[i]
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					p := permission{verb: verb, group: group, resource: resource}
					if len(rule.ResourceNames) == 0 {
						out = append(out, p)
					}
					for _, name := range rule.ResourceNames {
						p.name, p.named = name, true
						out = append(out, p)
					}
				}
			}
			for _, url := range rule.NonResourceURLs {
				out = append(out, permission{verb: verb, url: url, forURL: true})
			}
		}
	}
	return out
}

// coveredBy reports whether a rule grants the permission. It decides as upstream's escalation
// check does, but does not allocate memory for each comparison.
func (p *permission) coveredBy(rule *rbacv1.PolicyRule) bool {
	if !hasOrAll(rule.Verbs, p.verb) || len(rule.ResourceNames) > 0 && !(p.named && slices.Contains(rule.ResourceNames, p.name)) {
		return false
	}
	if p.forURL {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			return url == p.url || strings.HasSuffix(url, "*") && strings.HasPrefix(p.url, strings.TrimRight(url, "*"))
		})
	}
	return hasOrAll(rule.APIGroups, p.group) && (hasOrAll(rule.Resources, p.resource) || slices.ContainsFunc(rule.Resources, func(resource string) bool {
		of, subresource, found := strings.Cut(resource, "/")
		_, wanted, has := strings.Cut(p.resource, "/")
		return of == "*" && found && has && subresource == wanted
	}))
}

// missingFrom removes from missing, a list of indexes in permissions, those that a rule grants.
func missingFrom(missing []int, permissions []permission, rule *rbacv1.PolicyRule) []int {
	return slices.DeleteFunc(missing, func(i int) bool { return permissions[i].coveredBy(rule) })
}

// without removes the permissions with the given indexes, which are in ascending order.
func without(permissions []permission, remove []int) []permission {
	out := permissions[:0]
	for i := range permissions {
		if len(remove) > 0 && remove[0] == i {
			remove = remove[1:]
			continue
		}
		out = append(out, permissions[i])
	}
	return out
}

// indexes returns the indexes of all permissions.
func indexes(permissions []permission) []int {
	out := make([]int, len(permissions))
	for i := range out {
		out[i] = i
	}
	return out
}

func hasOrAll(of []string, one string) bool {
	return slices.Contains(of, one) || slices.Contains(of, "*")
}
