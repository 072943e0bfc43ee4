// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-helpers/auth/rbac/validation"

	"kube-granular.dev/api/selection"
)

// world is a model of roles and bindings, and of what they allow. Tests compare it with the
// server. It shares no code with the server, except upstream's Covers, which escalation checks
// use.
type world struct {
	roles               []*rbacv1.Role
	clusterRoles        []*rbacv1.ClusterRole
	roleBindings        []*rbacv1.RoleBinding
	clusterRoleBindings []*rbacv1.ClusterRoleBinding
}

// rules returns the rules of a role, or nil if the role does not exist.
func (w *world) rules(kind, namespace, name string) []rbacv1.PolicyRule {
	if kind == "ClusterRole" {
		for _, r := range w.clusterRoles {
			if r.Name == name {
				return r.Rules
			}
		}
		return nil
	}
	for _, r := range w.roles {
		if r.Namespace == namespace && r.Name == name {
			return r.Rules
		}
	}
	return nil
}

func bound(u user.Info, subjects []rbacv1.Subject, namespace string) bool {
	for _, s := range subjects {
		of := s.Namespace
		if of == "" {
			of = namespace
		}
		switch {
		case s.Kind == "User" && s.Name == u.GetName(),
			s.Kind == "Group" && slices.Contains(u.GetGroups(), s.Name),
			s.Kind == "ServiceAccount" && of != "" && u.GetName() == "system:serviceaccount:"+of+":"+s.Name:
			return true
		}
	}
	return false
}

// held returns the rules that a user has in a namespace, and whether a binding gives the user
// any role. If only is set, no other role counts.
func (w *world) held(u user.Info, namespace string, only *selection.AuthorityReference) (rules []rbacv1.PolicyRule, isBound bool) {
	is := func(ref rbacv1.RoleRef) bool {
		return only == nil || ref.Kind == string(only.Kind) && ref.Name == only.Name && (ref.Kind != "Role" || namespace == only.Namespace)
	}
	for _, b := range w.clusterRoleBindings {
		if is(b.RoleRef) && bound(u, b.Subjects, "") {
			rules, isBound = append(rules, w.rules(b.RoleRef.Kind, "", b.RoleRef.Name)...), true
		}
	}
	for _, b := range w.roleBindings {
		if namespace != "" && b.Namespace == namespace && is(b.RoleRef) && bound(u, b.Subjects, namespace) {
			rules, isBound = append(rules, w.rules(b.RoleRef.Kind, namespace, b.RoleRef.Name)...), true
		}
	}
	return rules, isBound
}

// selectedRules returns the rules that are left for a user who selects the role ref.
func (w *world) selectedRules(u user.Info, namespace string, ref *selection.AuthorityReference) []rbacv1.PolicyRule {
	if ref.Kind == "Role" && ref.Namespace != namespace {
		return nil
	}
	role := w.rules(string(ref.Kind), ref.Namespace, ref.Name)
	if _, isBound := w.held(u, namespace, ref); isBound || slices.Contains(u.GetGroups(), "system:masters") {
		return role
	}
	all, _ := w.held(u, namespace, nil)
	if covers, _ := validation.Covers(all, role); covers {
		return role
	}
	return nil
}

func allow(rules []rbacv1.PolicyRule, a authorizer.Attributes) bool {
	in := func(of []string, one string) bool { return slices.Contains(of, "*") || slices.Contains(of, one) }
	for _, r := range rules {
		if !in(r.Verbs, a.GetVerb()) {
			continue
		}
		if !a.IsResourceRequest() {
			for _, url := range r.NonResourceURLs {
				if prefix, all := strings.CutSuffix(url, "*"); url == a.GetPath() || all && strings.HasPrefix(a.GetPath(), prefix) {
					return true
				}
			}
			continue
		}
		resource := a.GetResource()
		if a.GetSubresource() != "" {
			resource += "/" + a.GetSubresource()
		}
		if in(r.APIGroups, a.GetAPIGroup()) && (in(r.Resources, resource) || a.GetSubresource() != "" && slices.Contains(r.Resources, "*/"+a.GetSubresource())) &&
			(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, a.GetName())) {
			return true
		}
	}
	return false
}

// mints reports whether a request asks for a token or a certificate.
func mints(a authorizer.Attributes) bool {
	if !a.IsResourceRequest() || slices.Contains([]string{"get", "list", "watch", "delete", "deletecollection"}, a.GetVerb()) {
		return false
	}
	what := a.GetAPIGroup() + "/" + a.GetResource() + "/" + a.GetSubresource()
	return slices.Contains([]string{"/serviceaccounts/token", "certificates.k8s.io/certificatesigningrequests/", "certificates.k8s.io/podcertificaterequests/"}, what)
}
