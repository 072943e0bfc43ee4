// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/rbacindex"
)

type visitor = func(source fmt.Stringer, rule *rbacv1.PolicyRule, err error) bool

// Visit calls visit for each rule that the selected authority gives the caller in a namespace, or
// in the whole cluster if namespace is empty. It stops when visit returns false.
func (sel Selection) Visit(ctx context.Context, policy seam.Policy, u user.Info, namespace string, visit visitor) {
	s, err := UserOf(u)
	if err != nil {
		visit(nil, nil, err)
		return
	}
	if s.SelectsDelegation() {
		sel.visitDelegated(ctx, policy, s, namespace, visit)
		return
	}
	if s.reference.Kind == selection.RoleKind && s.reference.Namespace != namespace {
		return
	}
	q := authorizationFrom(ctx)
	if q != nil {
		visit = q.recordAllowed(visit)
	}
	found, goOn := false, true
	bound := bindings{policy, s.reference}
	validation.NewDefaultRuleResolver(policy, bound, policy, bound).VisitRulesFor(ctx, s.ambient, namespace,
		func(source fmt.Stringer, rule *rbacv1.PolicyRule, err error) bool {
			found = found || rule != nil
			goOn = visit(source, rule, err)
			return goOn
		})
	if found || !goOn {
		return
	}
	sel.visitCovered(ctx, policy, s, namespace, q, visit)
}

// recordAllowed returns a visitor that calls visit, and stores in q whether RBAC found a rule that
// allows the request. RBAC stops at the first such rule by returning false from visit.
func (q *authorization) recordAllowed(visit visitor) visitor {
	return func(source fmt.Stringer, rule *rbacv1.PolicyRule, err error) bool {
		if visit(source, rule, err) {
			return true
		}
		q.allowedByRBAC = rule != nil
		return false
	}
}

// visitCovered calls visit for each rule of the selected role if the caller holds all of its rules
// by other roles, or is a member of system:masters. A role with too many permissions to compare
// counts only if a binding gives it to the caller, or for a member of system:masters. For any other
// caller it does nothing, as for a role that does not exist, so that a selection does not reveal
// whether a role exists.
func (sel Selection) visitCovered(ctx context.Context, policy seam.Policy, u *User, namespace string, q *authorization, visit visitor) {
	roleRef := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: string(u.reference.Kind), Name: u.reference.Name}
	all := validation.NewDefaultRuleResolver(policy, policy, policy, policy)
	rules, err := all.GetRoleReferenceRules(ctx, roleRef, u.reference.Namespace)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			visit(nil, nil, err)
		}
		return
	}
	if len(rules) == 0 || q != nil && !rbac.RulesAllow(q.attributes, rules...) {
		return
	}
	if !slices.Contains(u.ambient.GetGroups(), user.SystemPrivilegedGroup) {
		var held []*rbacv1.PolicyRule
		all.VisitRulesFor(rbacindex.WithAllRules(ctx), u.ambient, namespace, func(_ fmt.Stringer, rule *rbacv1.PolicyRule, _ error) bool {
			if rule != nil {
				held = append(held, rule)
			}
			return true
		})
		if !sel.Covered.covers(u.ambient, namespace, held, rules) {
			return
		}
	}
	for i := range rules {
		if !visit(coveredSource(u.reference), &rules[i], nil) {
			return
		}
	}
}

// bindings lists only those bindings of a policy that refer to one role.
type bindings struct {
	seam.Policy
	to selection.AuthorityReference
}

func (b bindings) refers(ref *rbacv1.RoleRef) bool {
	return ref.Kind == string(b.to.Kind) && ref.Name == b.to.Name
}

func (b bindings) ListRoleBindings(ctx context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	all, err := b.Policy.ListRoleBindings(ctx, namespace)
	var bound []*rbacv1.RoleBinding
	for _, binding := range all {
		if b.refers(&binding.RoleRef) {
			bound = append(bound, binding)
		}
	}
	return bound, err
}

func (b bindings) ListClusterRoleBindings(ctx context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	if b.to.Kind != selection.ClusterRoleKind {
		return nil, nil
	}
	all, err := b.Policy.ListClusterRoleBindings(ctx)
	var bound []*rbacv1.ClusterRoleBinding
	for _, binding := range all {
		if b.refers(&binding.RoleRef) {
			bound = append(bound, binding)
		}
	}
	return bound, err
}

// coveredSource is the source of a rule in the reasons that RBAC gives for a decision. The source
// is a selected role that the caller is not bound to, but whose rules the caller holds.
type coveredSource selection.AuthorityReference

func (c coveredSource) String() string {
	return describe(selection.AuthorityReference(c)) + ", whose rules the caller holds"
}

func describe(ref selection.AuthorityReference) string {
	if ref.Name == "" {
		return fmt.Sprintf("%s with the UID %q", ref.Kind, ref.UID)
	}
	if ref.Namespace != "" {
		return fmt.Sprintf("%s %q", ref.Kind, ref.Namespace+"/"+ref.Name)
	}
	return fmt.Sprintf("%s %q", ref.Kind, ref.Name)
}
