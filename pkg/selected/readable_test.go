// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/rbacindex"
)

// delegated returns a delegation of rules in namespace n, by alice to bot.
func delegated(rules ...rbacv1.PolicyRule) *v1alpha1.AuthorityDelegation {
	return &v1alpha1.AuthorityDelegation{
		ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d", ResourceVersion: "1"},
		Spec: v1alpha1.AuthorityDelegationSpec{
			Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "bot"}},
			Scope:     v1alpha1.DelegationScope{Namespace: "n"}, IfLost: v1alpha1.LossWithdraw,
		},
		Status: v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: "alice"}, Rules: rules, NamespaceUID: "n"},
	}
}

// asBot returns the request of bot that selects the delegation, as it comes to the authorizer.
func asBot(t *testing.T, verb, group, resource, subresource string) (context.Context, *authorizer.AttributesRecord) {
	t.Helper()
	u := selecting(t, &user.DefaultInfo{Name: "bot"}, &selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{Kind: selection.AuthorityDelegationKind, Name: "d"}})
	q := &authorizer.AttributesRecord{User: u, Verb: verb, Namespace: "n", APIGroup: group, Resource: resource, Subresource: subresource, Name: "web", ResourceRequest: true}
	info := &request.RequestInfo{IsResourceRequest: true, Verb: verb, APIGroup: group, Resource: resource, Subresource: subresource, Namespace: "n", Name: "web"}
	return request.WithRequestInfo(request.WithUser(t.Context(), u), info), q
}

// namespaceUID returns the name of a namespace as its UID.
func namespaceUID(name string) types.UID { return types.UID(name) }

func indexed(d *v1alpha1.AuthorityDelegation) *delegation.Index {
	x := delegation.NewIndex()
	x.Connect(delegation.Sources{Namespace: namespaceUID})
	x.Observe(d, false)
	return x
}

// TestConditionsNeedGet checks that with conditions, a delegation allows a write only if its rules
// contain get on the object, and its delegator may get the object now. What the delegate may do
// itself does not count.
//
// Attack: reading an object bit by bit, by the conditions of a delegation of `update` or of `deployments/scale`
// Answer: 403, before any condition is evaluated
func TestConditionsNeedGet(t *testing.T) {
	rules := func(resources []string, verbs ...string) rbacv1.PolicyRule {
		return rule(verbs, []string{"apps"}, resources, nil)
	}
	web, scale := []string{"deployments"}, []string{"deployments/scale"}
	for name, tc := range map[string]struct {
		delegated   []rbacv1.PolicyRule
		held        []rbacv1.PolicyRule
		subresource string
		keep        bool
		verb        string
		want        bool
	}{
		"update and get":                      {[]rbacv1.PolicyRule{rules(web, "update", "get")}, []rbacv1.PolicyRule{rules(web, "update", "get")}, "", false, "update", true},
		"patch and get":                       {[]rbacv1.PolicyRule{rules(web, "patch", "get")}, []rbacv1.PolicyRule{rules(web, "patch", "get")}, "", false, "patch", true},
		"update alone":                        {[]rbacv1.PolicyRule{rules(web, "update")}, []rbacv1.PolicyRule{rules(web, "update", "get")}, "", false, "update", false},
		"granular alone":                      {[]rbacv1.PolicyRule{rules(web, "granular")}, []rbacv1.PolicyRule{rules(web, "granular", "get")}, "", false, "granular", false},
		"the delegator lost get":              {[]rbacv1.PolicyRule{rules(web, "update", "get")}, []rbacv1.PolicyRule{rules(web, "update")}, "", false, "update", false},
		"the delegator lost get, Keep":        {[]rbacv1.PolicyRule{rules(web, "update", "get")}, nil, "", true, "update", true},
		"update alone, Keep":                  {[]rbacv1.PolicyRule{rules(web, "update")}, nil, "", true, "update", false},
		"scale with its own get":              {[]rbacv1.PolicyRule{rules(scale, "update", "get")}, []rbacv1.PolicyRule{rules(scale, "update", "get"), rules(web, "get")}, "scale", false, "update", false},
		"scale with get of the object":        {[]rbacv1.PolicyRule{rules(scale, "update"), rules(web, "get")}, []rbacv1.PolicyRule{rules(scale, "update"), rules(web, "get")}, "scale", false, "update", true},
		"scale, the delegator has no get":     {[]rbacv1.PolicyRule{rules(scale, "update"), rules(web, "get")}, []rbacv1.PolicyRule{rules(scale, "update", "get")}, "scale", false, "update", false},
		"the twin of update, without verbs":   {[]rbacv1.PolicyRule{rules(web, "get")}, []rbacv1.PolicyRule{rules(web, "update", "get")}, "", false, "update", false},
		"creation of an object without a get": {[]rbacv1.PolicyRule{rules(web, "create")}, []rbacv1.PolicyRule{rules(web, "create", "get")}, "", false, "create", false},
	} {
		p := newPolicy()
		put(t, p.clusterRoles, clusterRole("held", tc.held...), clusterRole("all", rule([]string{"*"}, []string{"*"}, []string{"*"}, nil)))
		put(t, p.roleBindings, binding("n", "a", "ClusterRole", "held", named("alice")), binding("n", "b", "ClusterRole", "all", named("bot")))
		d := delegated(tc.delegated...)
		d.Spec.Conditions = []v1alpha1.DelegationCondition{{Expression: "true"}}
		if tc.keep {
			d.Spec.IfLost = v1alpha1.LossKeep
		}
		a := New(chained(t, p.rbac, p.rbac), indexed(d), nil)
		ctx, q := asBot(t, tc.verb, "apps", "deployments", tc.subresource)
		if got, reason, err := a.Authorize(ctx, q); (got == authorizer.DecisionAllow) != tc.want || err != nil {
			t.Errorf("%s: %v, %s, error %v, wanted it allowed: %t", name, got, reason, err, tc.want)
		}
	}
}

// TestNothingAskedOfAnotherAccount checks that a delegation with ifLost: Keep of a deleted service
// account goes on, whatever is allowed or denied to another account of that name.
func TestNothingAskedOfAnotherAccount(t *testing.T) {
	const robot = "system:serviceaccount:n:robot"
	get := on("get", "pods")
	for name, tc := range map[string]struct {
		keep   bool
		stored types.UID
		want   authorizer.Decision
	}{
		"Keep, the same account, denied":        {true, "u1", authorizer.DecisionDeny},
		"Keep, another account, denied":         {true, "u2", authorizer.DecisionAllow},
		"Keep, deleted":                         {true, "", authorizer.DecisionAllow},
		"Withdraw, another account of its name": {false, "u2", authorizer.DecisionDeny},
	} {
		p := newPolicy()
		put(t, p.clusterRoles, clusterRole("held", get))
		put(t, p.roleBindings, binding("n", "a", "ClusterRole", "held", named(robot)))
		d := delegated(get)
		d.Status.Delegator = v1alpha1.DelegatorIdentity{Username: robot, UID: "u1"}
		if tc.keep {
			d.Spec.IfLost = v1alpha1.LossKeep
		}
		x := indexed(d)
		x.Connect(delegation.Sources{Namespace: namespaceUID, Accounts: delegation.NewAccounts(
			func(string, string) types.UID { return tc.stored },
			func(context.Context, string, string) (types.UID, error) { return tc.stored, nil })})
		denies := opinion(func(a authorizer.Attributes) authorizer.Decision {
			if a.GetUser().GetName() == robot {
				return authorizer.DecisionDeny
			}
			return authorizer.DecisionNoOpinion
		})
		a := New(chained(t, p.rbac, denies, p.rbac), x, nil)
		ctx, q := asBot(t, "get", "", "pods", "")
		if got, reason, err := a.Authorize(ctx, q); got != tc.want || err != nil {
			t.Errorf("%s: %v, %s, error %v, wanted %v", name, got, reason, err, tc.want)
		}
	}
}

// words returns n different values.
func words(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(prefix, i))
	}
	return out
}

// TestTooManyToCompare checks that rules with more than 65,536 permissions are not compared, neither
// those of a role that is selected without a binding nor those of a delegation, and that repeated
// values do not count.
func TestTooManyToCompare(t *testing.T) {
	large := func(resources int) rbacv1.PolicyRule {
		return rule(append(words("v", 63), "get"), append(words("g", 63), ""), append(words("r", resources-1), "pods"), nil)
	}
	p := newPolicy()
	put(t, p.clusterRoles, clusterRole("all", rule([]string{"*"}, []string{"*"}, []string{"*"}, nil)))
	put(t, p.clusterRoleBindings, clusterBinding("a", "all", named("alice"), named("jane")))
	for name, tc := range map[string]struct {
		rules []rbacv1.PolicyRule
		want  bool
	}{
		"65,536":   {[]rbacv1.PolicyRule{large(16)}, true},
		"more":     {[]rbacv1.PolicyRule{large(17)}, false},
		"repeated": {[]rbacv1.PolicyRule{rule(slices.Repeat([]string{"get"}, 256), slices.Repeat([]string{""}, 256), slices.Repeat([]string{"pods"}, 256), nil)}, true},
	} {
		put(t, p.clusterRoles, clusterRole("large", tc.rules...))
		a := New(chained(t, p.rbac, p.rbac), nil, nil)
		q := ask(selecting(t, &user.DefaultInfo{Name: "jane"}, selection.ClusterRole("large")), "get", "n", "pods")
		if got, reason, err := a.Authorize(t.Context(), q); (got == authorizer.DecisionAllow) != tc.want || err != nil {
			t.Errorf("%s permissions of a role: %v, %s, error %v, wanted it allowed: %t", name, got, reason, err, tc.want)
		}
		d := delegated(tc.rules...)
		d.Spec.Scope = v1alpha1.DelegationScope{Cluster: true}
		chain, refusal := indexed(d).Chain(t.Context(), "d", "", &user.DefaultInfo{Name: "bot"})
		if refusal != nil {
			t.Fatal(refusal)
		}
		if got := effectiveRules(t.Context(), p.policy(), chain, ""); (len(got) > 0) != tc.want {
			t.Errorf("%s permissions of a delegation: %d rules, wanted any: %t", name, len(got), tc.want)
		}
	}
}

// TestCoveredIsRemembered checks that a remembered result does not outlive the rules that it was
// derived from.
func TestCoveredIsRemembered(t *testing.T) {
	p := newPolicy()
	small, bound := clusterRole("small", on("get", "pods")), binding("n", "a", "ClusterRole", "held", named("jane"))
	put(t, p.clusterRoles, small, clusterRole("held", on("get", "pods", "services")))
	put(t, p.roleBindings, bound)
	sel := Selection{Covered: NewCovered()}
	covered := func() (found bool) {
		u := selecting(t, &user.DefaultInfo{Name: "jane"}, selection.ClusterRole("small"))
		sel.Visit(rbacindex.WithAllRules(t.Context()), p.policy(), u, "n", func(_ fmt.Stringer, r *rbacv1.PolicyRule, _ error) bool {
			found = r != nil
			return false
		})
		return found
	}
	for step, tc := range []struct {
		change func()
		want   bool
	}{
		{func() {}, true},
		{func() {}, true},
		{func() { put(t, p.clusterRoles, clusterRole("held", on("get", "services"))) }, false},
		{func() {}, false},
		{func() { put(t, p.clusterRoles, clusterRole("held", on("get", "pods"))) }, true},
		{func() { put(t, p.clusterRoles, clusterRole("small", on("get", "pods", "secrets"))) }, false},
		{func() { put(t, p.clusterRoles, clusterRole("small", on("get", "pods"))) }, true},
		{func() {
			if err := p.roleBindings.GetStore().Delete(bound); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		if tc.change(); covered() != tc.want {
			t.Errorf("step %d: covered: %t, wanted %t", step, !tc.want, tc.want)
		}
	}
	if n := sel.Covered.results.Len(); n == 0 {
		t.Error("nothing is remembered")
	}
}
