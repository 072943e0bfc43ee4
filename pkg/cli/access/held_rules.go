// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// HeldRule is a rule that a subject holds.
type HeldRule struct {
	// Binding and Role grant it.
	Binding string `json:"binding"`
	Role    string `json:"role"`
	// Namespace is where it holds, "" for everywhere.
	Namespace string            `json:"namespace,omitempty"`
	Rule      rbacv1.PolicyRule `json:"rule"`
	// By is the subject that is bound: the user, or a group of it.
	By string `json:"by"`
}

// HeldBy returns the rules that a user in some groups holds, in the order of bindings.
func (r *RBAC) HeldBy(name string, groups []string) []HeldRule {
	var out []HeldRule
	for _, b := range r.bindings {
		at := slices.IndexFunc(b.subjects, func(s rbacv1.Subject) bool { return IsSubject(s, b.namespace, name, groups) })
		if at < 0 {
			continue
		}
		for _, rule := range r.roles[b.role] {
			out = append(out, HeldRule{b.String(), b.role.String(), b.namespace, rule, subjectName(b.subjects[at], b.namespace)})
		}
	}
	return out
}

// GrantedRule is a rule that a binding grants.
type GrantedRule struct {
	Binding, Role string
	// Namespace is where it holds, "" for everywhere.
	Namespace string
	Rule      rbacv1.PolicyRule
	// Subjects are those of the binding.
	Subjects []rbacv1.Subject
}

// Granted returns every rule that is granted, in the order of bindings.
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
func Grants(rule rbacv1.PolicyRule, verb string, of Target) bool {
	return grantedVerb(rule, []string{verb}, of) != ""
}

// IsSubject reports whether a user in some groups is a subject of a binding. Namespace is that of
// the binding, which service accounts need not name.
func IsSubject(s rbacv1.Subject, namespace, name string, groups []string) bool {
	switch s.Kind {
	case rbacv1.UserKind:
		return s.Name == name
	case rbacv1.GroupKind:
		return slices.Contains(groups, s.Name)
	case rbacv1.ServiceAccountKind:
		if s.Namespace == "" {
			s.Namespace = namespace
		}
		return s.Namespace != "" && "system:serviceaccount:"+s.Namespace+":"+s.Name == name
	}
	return false
}
