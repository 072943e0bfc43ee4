// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// NewRBAC returns RBAC with the given roles and bindings only. Bindings of other roles are left out;
// lost has their names.
func NewRBAC(objects []runtime.Object) (out *RBAC, lost []string) {
	out = newRBAC()
	for _, o := range objects {
		out.add(o)
	}
	out.bindings = slices.DeleteFunc(out.bindings, func(b binding) bool {
		_, known := out.roles[b.role]
		if !known {
			lost = append(lost, b.String())
		}
		return !known
	})
	return out, lost
}

// HasRoles reports whether there is a role.
func (r *RBAC) HasRoles() bool { return len(r.roles) > 0 }

// HasBindings reports whether there is a binding.
func (r *RBAC) HasBindings() bool { return len(r.bindings) > 0 }

// BindsGroups reports whether a binding names a group.
func (r *RBAC) BindsGroups() bool {
	return slices.ContainsFunc(r.bindings, func(b binding) bool {
		return slices.ContainsFunc(b.subjects, func(s rbacv1.Subject) bool { return s.Kind == rbacv1.GroupKind })
	})
}

// Names reports whether a binding names the user with this name and these groups.
func (r *RBAC) Names(name string, groups []string) bool {
	return slices.ContainsFunc(r.bindings, func(b binding) bool {
		return slices.ContainsFunc(b.subjects, func(s rbacv1.Subject) bool { return IsSubject(s, b.namespace, name, groups) })
	})
}

// Unbound returns the rules of the roles that no binding refers to. The namespace of a rule is that of
// its Role, and "" for a ClusterRole.
func (r *RBAC) Unbound() []HeldRule {
	var out []HeldRule
	compare := func(a, b roleKey) int {
		return slices.Compare([]string{a.kind, a.namespace, a.name}, []string{b.kind, b.namespace, b.name})
	}
	for _, key := range slices.SortedFunc(maps.Keys(r.roles), compare) {
		if slices.ContainsFunc(r.bindings, func(b binding) bool { return b.role == key }) {
			continue
		}
		for _, rule := range r.roles[key] {
			out = append(out, HeldRule{Role: key.String(), Namespace: key.namespace, Rule: rule})
		}
	}
	return out
}

// VerbsOn returns the verbs that a rule grants on a target.
func VerbsOn(rule rbacv1.PolicyRule, target Target) []string {
	if !Covers(&rule, &target) || !matchesName(rule, target) {
		return nil
	}
	return rule.Verbs
}
