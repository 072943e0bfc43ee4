// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

const selectsLeaf = `{"authorityReference":{"kind":"AuthorityDelegation","name":"leaf"}}`

// TestRulesForEscalation checks which rules a caller who selected a delegation holds for an escalation check, as when it
// writes a role: those that all delegations of the chain contain and that the first delegator holds now. alice delegated to
// carol, who delegated to bot.
//
// Attack: writing a role or a binding under a delegation, with rights that the delegation has and its ancestor or delegator has not
// Answer: 403
func TestRulesForEscalation(t *testing.T) {
	pods := func(verbs ...string) rbacv1.PolicyRule { return rule(verbs, []string{""}, []string{"pods"}, nil) }
	for name, tc := range map[string]struct {
		held       []rbacv1.PolicyRule // of alice, each by a role of its own
		root, leaf []rbacv1.PolicyRule
		change     func(root, leaf *v1alpha1.AuthorityDelegation)
		creating   bool
		namespace  string
		want       []rbacv1.PolicyRule
		fails      bool
	}{
		"all":                             {held: []rbacv1.PolicyRule{pods("get", "list")}, root: []rbacv1.PolicyRule{pods("get", "list")}, leaf: []rbacv1.PolicyRule{pods("get", "list")}, want: []rbacv1.PolicyRule{pods("get", "list")}},
		"the ancestor has less":           {held: []rbacv1.PolicyRule{pods("get", "list")}, root: []rbacv1.PolicyRule{pods("get")}, leaf: []rbacv1.PolicyRule{pods("get", "list")}, want: []rbacv1.PolicyRule{pods("get")}},
		"the delegator has less":          {held: []rbacv1.PolicyRule{pods("list")}, root: []rbacv1.PolicyRule{pods("get", "list")}, leaf: []rbacv1.PolicyRule{pods("get", "list")}, want: []rbacv1.PolicyRule{pods("list")}},
		"the delegator has it by two":     {held: []rbacv1.PolicyRule{pods("list"), pods("get")}, root: []rbacv1.PolicyRule{pods("get", "list")}, leaf: []rbacv1.PolicyRule{pods("get", "list")}, want: []rbacv1.PolicyRule{pods("get", "list")}},
		"the delegator has nothing":       {root: []rbacv1.PolicyRule{pods("get")}, leaf: []rbacv1.PolicyRule{pods("get")}},
		"the delegator has nothing, Keep": {root: []rbacv1.PolicyRule{pods("get")}, leaf: []rbacv1.PolicyRule{pods("get", "list")}, change: func(root, _ *v1alpha1.AuthorityDelegation) { root.Spec.IfLost = v1alpha1.LossKeep }, want: []rbacv1.PolicyRule{pods("get")}},
		"the delegator is a master": {root: []rbacv1.PolicyRule{pods("get")}, leaf: []rbacv1.PolicyRule{pods("get")}, change: func(root, _ *v1alpha1.AuthorityDelegation) {
			root.Status.Delegator.Groups = []string{user.SystemPrivilegedGroup}
		}, want: []rbacv1.PolicyRule{pods("get")}},
		"conditions":                       {held: []rbacv1.PolicyRule{pods("get")}, root: []rbacv1.PolicyRule{pods("get")}, leaf: []rbacv1.PolicyRule{pods("get")}, change: conditional},
		"conditions, for a new delegation": {held: []rbacv1.PolicyRule{pods("get")}, root: []rbacv1.PolicyRule{pods("get")}, leaf: []rbacv1.PolicyRule{pods("get")}, change: conditional, creating: true, want: []rbacv1.PolicyRule{pods("get")}},
		"another namespace":                {held: []rbacv1.PolicyRule{pods("get")}, root: []rbacv1.PolicyRule{pods("get")}, leaf: []rbacv1.PolicyRule{pods("get")}, namespace: "m"},
		"no delegate any more":             {held: []rbacv1.PolicyRule{pods("get")}, root: []rbacv1.PolicyRule{pods("get")}, leaf: []rbacv1.PolicyRule{pods("get")}, change: func(_, leaf *v1alpha1.AuthorityDelegation) { leaf.Spec.Delegates[0].Name = "eve" }, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			p, root, leaf := newPolicy(), delegated(tc.root...), delegated(tc.leaf...)
			for i, held := range tc.held {
				name := fmt.Sprint("held-", i)
				put(t, p.clusterRoles, clusterRole(name, held))
				put(t, p.clusterRoleBindings, clusterBinding(name, name, named("alice")))
			}
			root.Spec.Delegates[0].Name = "carol"
			leaf.Name, leaf.UID, leaf.Status.Delegator.Username = "leaf", "leaf", "carol"
			leaf.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaDelegation, By: "alice", Name: "d", UID: "d"}}
			if tc.change != nil {
				tc.change(root, leaf)
			}
			if tc.namespace == "" {
				tc.namespace = "n"
			}
			x := indexed(root)
			x.Observe(leaf, false)
			ctx := t.Context()
			if tc.creating {
				ctx = ForNewDelegation(ctx)
			}
			bot := &user.DefaultInfo{Name: "bot", Extra: map[string][]string{selection.ExtraKey: {selectsLeaf}}}
			var got []rbacv1.PolicyRule
			failed := false
			Selection{Delegations: x}.Visit(ctx, p.policy(), bot, tc.namespace, func(_ fmt.Stringer, r *rbacv1.PolicyRule, err error) bool {
				if failed = failed || err != nil; r != nil {
					got = append(got, *r)
				}
				return true
			})
			if diff := cmp.Diff(tc.want, got); diff != "" || failed != tc.fails {
				t.Errorf("failed: %t, rules (-want +got):\n%s", failed, diff)
			}
		})
	}
}

func conditional(root, _ *v1alpha1.AuthorityDelegation) {
	root.Spec.Conditions = []v1alpha1.DelegationCondition{{Expression: "true"}}
}

// TestVisitStops checks that no rule follows once the visitor wants none.
func TestVisitStops(t *testing.T) {
	p := newPolicy()
	put(t, p.clusterRoles, clusterRole("all", on("*", "*")))
	put(t, p.clusterRoleBindings, clusterBinding("all", "all", named("alice")))
	bot := &user.DefaultInfo{Name: "bot", Extra: map[string][]string{selection.ExtraKey: {`{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`}}}
	visited := 0
	Selection{Delegations: indexed(delegated(on("get", "pods"), on("get", "secrets")))}.Visit(t.Context(), p.policy(), bot, "n",
		func(fmt.Stringer, *rbacv1.PolicyRule, error) bool { visited++; return false })
	if visited != 1 {
		t.Errorf("visited %d rules", visited)
	}
}

// TestEscalationWork checks that a comparison which is too much work for a request gives no rules, and that the creation of a
// delegation, which is rare, may take more.
func TestEscalationWork(t *testing.T) {
	names := words("n", 8000)
	p, d := newPolicy(), delegated(rule([]string{"get"}, []string{""}, []string{"pods"}, names))
	var held []rbacv1.PolicyRule
	for range 30 {
		held = append(held, rule([]string{"get"}, []string{""}, []string{"pods"}, names[1:]))
	}
	put(t, p.clusterRoles, clusterRole("held", append(held, rule([]string{"get"}, []string{""}, []string{"pods"}, names))...))
	put(t, p.clusterRoleBindings, clusterBinding("held", "held", named("alice")))
	d.Spec.Scope = v1alpha1.DelegationScope{Cluster: true}
	chain, refusal := indexed(d).Chain(t.Context(), "d", "", &user.DefaultInfo{Name: "bot"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	if got := effectiveRules(t.Context(), p.policy(), chain, ""); len(got) != 0 {
		t.Errorf("for a request: %d rules", len(got))
	}
	if got := effectiveRules(ForNewDelegation(t.Context()), p.policy(), chain, ""); len(got) != 1 || len(got[0].ResourceNames) != 8000 {
		t.Errorf("for a new delegation: %d rules", len(got))
	}
}

// TestBoundRules checks that the rules of a bound service account are those of its delegation, or none with an error, and
// that the list of a delegation never counts as complete.
func TestBoundRules(t *testing.T) {
	w := newAgents(t, boundToD)
	role := `{"authorityReference":{"kind":"ClusterRole","name":"own"}}`
	if rules, _, incomplete, err := w.auth.RulesFor(t.Context(), agentWith("account-1", role), "n"); len(rules) > 0 || !incomplete || err == nil {
		t.Errorf("a role that is not narrower: %v, incomplete %t, %v", rules, incomplete, err)
	}
	if _, _, incomplete, err := w.auth.RulesFor(t.Context(), agentWith("account-1", ""), "n"); !incomplete {
		t.Errorf("a delegation: incomplete %t, %v", incomplete, err)
	}
	free := newAgents(t, "")
	if rules, _, incomplete, err := free.auth.RulesFor(t.Context(), agentWith("account-1", role), "n"); len(rules) != 1 || incomplete || err != nil {
		t.Errorf("a role: %v, incomplete %t, %v", rules, incomplete, err)
	}
	unreadable := agentWith("account-1", "{")
	if rules, _, incomplete, err := free.auth.RulesFor(t.Context(), unreadable, "n"); len(rules) > 0 || !incomplete || err == nil {
		t.Errorf("no authority: %v, incomplete %t, %v", rules, incomplete, err)
	}
}
