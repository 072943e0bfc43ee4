// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

// delegateAny is what the authorizer is asked about the author of a policy.
const delegateAny = "delegate authoritydelegations.authority.kube-granular.dev /"

// delegationPolicy returns a policy for config maps that delegates to bot.
func delegationPolicy(all []rbacv1.PolicyRule) *v1alpha1.AuthorityDelegationPolicy {
	return &v1alpha1.AuthorityDelegationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p-uid", ResourceVersion: "3"},
		Spec: v1alpha1.AuthorityDelegationPolicySpec{Resource: v1alpha1.GroupResource{Resource: "configmaps"},
			Delegates: []v1alpha1.Delegate{toUser("bot")}, Rules: all, IfLost: v1alpha1.LossWithdraw, IfNotHeld: v1alpha1.NotHeldRefuse},
	}
}

// TestWritePolicy checks who may write which policy. A writer needs the verb "delegate" on all delegations, and must hold
// all rules in the whole cluster.
func TestWritePolicy(t *testing.T) {
	alice := user.DefaultInfo{Name: "alice"}
	byRole := func(kind, name string) func(*v1alpha1.AuthorityDelegationPolicy) {
		return func(p *v1alpha1.AuthorityDelegationPolicy) {
			p.Spec.Rules, p.Spec.RoleRef = nil, &v1alpha1.DelegatedRole{Kind: kind, Name: name}
		}
	}
	conditional := func(p *v1alpha1.AuthorityDelegationPolicy) { p.Spec.Conditions = anyCondition }
	delegates, getSecret := []string{delegateAny}, "get clusterroles.rbac.authorization.k8s.io /secrets"
	for name, tc := range map[string]struct {
		caller user.Info
		may    []string
		fails  []string
		change func(*v1alpha1.AuthorityDelegationPolicy)
		refusal
	}{
		"holds the rules and may delegate":  {caller: &alice, may: delegates},
		"holds the rules":                   {caller: &alice, refusal: refusal{apierrors.IsForbidden, `you need the verb "delegate" on authoritydelegations`}},
		"may delegate one":                  {caller: &alice, may: []string{delegateVerb}, refusal: refusal{apierrors.IsForbidden, `the verb "delegate"`}},
		"no answer":                         {caller: &alice, fails: delegates, refusal: refusal{apierrors.IsInternalError, "no answer"}},
		"may delegate":                      {caller: &user.DefaultInfo{Name: "eve"}, may: delegates, refusal: refusal{apierrors.IsForbidden, "not currently held"}},
		"holds the rules in one namespace":  {caller: &user.DefaultInfo{Name: "local"}, may: delegates, refusal: refusal{apierrors.IsForbidden, "not currently held"}},
		"a role that is selected":           {caller: selects(alice, selection.ClusterRoleKind, "reader"), may: delegates},
		"another role that is selected":     {caller: selects(alice, selection.ClusterRoleKind, "other"), may: delegates, refusal: refusal{apierrors.IsForbidden, "not currently held"}},
		"no delegate":                       {caller: &alice, may: delegates, change: func(p *v1alpha1.AuthorityDelegationPolicy) { p.Spec.Delegates = nil }, refusal: refusal{apierrors.IsInvalid, "spec.delegates"}},
		"a role that is held":               {caller: &alice, may: delegates, change: byRole("ClusterRole", "reader")},
		"a role that is not held":           {caller: &alice, may: delegates, change: byRole("ClusterRole", "secrets"), refusal: refusal{apierrors.IsForbidden, "or it does not exist"}},
		"a role that is not held, but read": {caller: &alice, may: append(delegates, getSecret), change: byRole("ClusterRole", "secrets"), refusal: refusal{apierrors.IsForbidden, "not currently held"}},
		"a role that is missing":            {caller: &alice, may: delegates, change: byRole("ClusterRole", "gone"), refusal: refusal{apierrors.IsForbidden, `authoritydelegationpolicies.authority.kube-granular.dev "p" is forbidden: you do not hold`}},
		"conditions":                        {caller: &alice, may: delegates, change: conditional},
		"conditions, for what is not read": {caller: &alice, may: delegates, change: func(p *v1alpha1.AuthorityDelegationPolicy) {
			conditional(p)
			p.Spec.Rules = rules(on("endpoints", "update"))
		}, refusal: refusal{apierrors.IsInvalid, "the rules need the verb get"}},
		"no conditions, for what is not read": {caller: &alice, may: delegates, change: func(p *v1alpha1.AuthorityDelegationPolicy) { p.Spec.Rules = rules(on("endpoints", "update")) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, append(granted("reader", rules(readPods[0], on("endpoints", "update")), "alice"), clusterRole("secrets", rules(on("secrets", "get"))),
				binding("any", "x", "ClusterRole", "reader", "local"))...)
			s.requests, s.fails = tc.may, tc.fails
			p := delegationPolicy(rules(on("pods", "get")))
			p.Status = v1alpha1.AuthorityDelegationPolicyStatus{Author: "somebody", Rules: rules(on("*", "*"))}
			if tc.change != nil {
				tc.change(p)
			}
			err := s.issuer.PreparePolicy(s.by(tc.caller), p)
			tc.check(t, err)
			if err != nil {
				return
			}
			want := v1alpha1.AuthorityDelegationPolicyStatus{Author: "alice", Rules: p.Spec.Rules}
			if ref := p.Spec.RoleRef; ref != nil {
				want.Rules, want.Role = rules(readPods[0], on("endpoints", "update")), &v1alpha1.SnapshotRole{DelegatedRole: *ref, UID: "reader-uid", ResourceVersion: "7"}
			}
			same(t, "status", want, p.Status)
		})
	}
	s := newScene(t)
	s.requests = delegates
	refusal{apierrors.IsForbidden, "only an authenticated user"}.check(t, s.issuer.PreparePolicy(s.ctx, delegationPolicy(readPods)))
}

// TestPolicyOfRole checks that a policy delegates only a ClusterRole, because a Role belongs to one namespace, and that
// storage that can't be read is no answer.
func TestPolicyOfRole(t *testing.T) {
	s, p := newScene(t), delegationPolicy(nil)
	p.Spec.RoleRef = &v1alpha1.DelegatedRole{Kind: "Role", Name: "reader"}
	ctx := s.by(&user.DefaultInfo{Name: "alice"})
	refusal{apierrors.IsInvalid, "spec.roleRef.kind"}.check(t, s.issuer.snapshotPolicyRules(ctx, p))
	p.Spec.RoleRef.Kind = "ClusterRole"
	refusal{apierrors.IsForbidden, "or it does not exist"}.check(t, s.issuer.snapshotPolicyRules(ctx, p))
	s.broken("get", "clusterroles")
	refusal{apierrors.IsInternalError, "broken"}.check(t, s.issuer.snapshotPolicyRules(ctx, p))
	s.requests = []string{delegateAny}
	refusal{apierrors.IsInternalError, "broken"}.check(t, s.issuer.PreparePolicy(ctx, p))
}

// TestPolicyUnderDelegation checks that rules that a caller holds only under conditions do not count for a policy, because
// a policy does not inherit the conditions. For a delegation, which does, they count.
func TestPolicyUnderDelegation(t *testing.T) {
	for name, conditions := range map[string][]v1alpha1.DelegationCondition{"without conditions": nil, "with conditions": anyCondition} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, granted("reader", readPods, "carol")...)
			s.requests = []string{delegateAny}
			parent := stored("parent", "carol", []v1alpha1.Delegate{toUser("alice")}, readPods)
			parent.Spec.Conditions = conditions
			s.index.Observe(parent, false)
			ctx := s.by(selects(user.DefaultInfo{Name: "alice"}, selection.AuthorityDelegationKind, "parent"))
			if err := s.issuer.PreparePolicy(ctx, delegationPolicy(readPods)); (err == nil) != (conditions == nil) {
				t.Errorf("policy: %v", err)
			}
			d := wanted()
			d.Spec.Scope = v1alpha1.DelegationScope{Cluster: true}
			refusal{}.check(t, s.issuer.PrepareDelegation(ctx, d))
		})
	}
}
