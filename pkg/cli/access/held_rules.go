// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// HeldRule is a rule that a subject holds.
type HeldRule struct {
	// Binding and Role are the names of the binding and the role that grant the rule.
	Binding string `json:"binding"`
	Role    string `json:"role"`
	// Namespace is the namespace of the binding, "" for the whole cluster.
	Namespace string            `json:"namespace,omitempty"`
	Rule      rbacv1.PolicyRule `json:"rule"`
	// By is the subject of the binding: the user, or one of its groups.
	By string `json:"by"`
}

// HeldBy returns the rules that bindings grant to the user with this name and these groups,
// in the order of the bindings.
func (r *RBAC) HeldBy(name string, groups []string) []HeldRule {
	var out []HeldRule
	for _, b := range r.bindings {
		index := slices.IndexFunc(b.subjects, func(s rbacv1.Subject) bool { return IsSubject(s, b.namespace, name, groups) })
		if index < 0 {
			continue
		}
		for _, rule := range r.roles[b.role] {
			out = append(out, HeldRule{b.String(), b.role.String(), b.namespace, rule, subjectName(b.subjects[index], b.namespace)})
		}
	}
	return out
}

// GrantedRule is a rule that a binding grants.
type GrantedRule struct {
	Binding, Role string
	// Namespace is the namespace of the binding, "" for the whole cluster.
	Namespace string
	Rule      rbacv1.PolicyRule
	// Subjects are the subjects of the binding.
	Subjects []rbacv1.Subject
}

// Granted returns all granted rules, in the order of the bindings.
func (r *RBAC) Granted() []GrantedRule {
	var out []GrantedRule
	for _, b := range r.bindings {
		for _, rule := range r.roles[b.role] {
			out = append(out, GrantedRule{b.String(), b.role.String(), b.namespace, rule, b.subjects})
		}
	}
	return out
}

// Grants reports whether a rule grants a verb for a target.
func Grants(rule rbacv1.PolicyRule, verb string, target Target) bool {
	return grantedVerb(rule, []string{verb}, target) != ""
}

// IsSubject reports whether s, a subject of a binding, includes the user with a name and groups.
// namespace is the namespace of the binding. A service account in s without a namespace is taken
// to be in this namespace.
func IsSubject(s rbacv1.Subject, namespace, name string, groups []string) bool {
	switch s.Kind {
	case rbacv1.UserKind:
		return s.Name == name
	case rbacv1.GroupKind:
		return slices.Contains(groups, s.Name)
	case rbacv1.ServiceAccountKind:
		namespace = cmp.Or(s.Namespace, namespace)
		return namespace != "" && "system:serviceaccount:"+namespace+":"+s.Name == name
	}
	return false
}

// Identity returns a user name and groups that requests of a subject certainly have. The user name of
// a group is "". A member of a group has logged in, so it is in the group of all who have.
func Identity(s rbacv1.Subject) (name string, groups []string) {
	const authenticated, accounts = "system:authenticated", "system:serviceaccounts"
	switch {
	case s.Kind == rbacv1.ServiceAccountKind:
		return "system:serviceaccount:" + s.Namespace + ":" + s.Name, []string{authenticated, accounts, accounts + ":" + s.Namespace}
	case s.Kind == rbacv1.UserKind && s.Name == "system:anonymous":
		return s.Name, []string{"system:unauthenticated"}
	case s.Kind == rbacv1.UserKind:
		return s.Name, []string{authenticated}
	case s.Name == authenticated, s.Name == "system:unauthenticated":
		return "", []string{s.Name}
	case strings.HasPrefix(s.Name, accounts+":"):
		return "", []string{s.Name, authenticated, accounts}
	}
	return "", []string{s.Name, authenticated}
}
