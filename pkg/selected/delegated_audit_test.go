// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/rbacindex"
)

// failing is an authorizer that fails for requests of one user with one verb.
type failing struct {
	name, verb string
	decision   authorizer.Decision
}

var errFailing = errors.New("the authorizer fails")

func (f failing) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetUser().GetName() == f.name && a.GetVerb() == f.verb {
		return f.decision, "", errFailing
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func (f failing) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(f.Authorize(ctx, a))
}

func (f failing) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

// TestOutcomeOfDelegated checks what follows from the answer to a request under a delegation: the reason of a refusal in
// the audit log, which only the request itself gets, the record of its use, and errors that are passed on.
func TestOutcomeOfDelegated(t *testing.T) {
	const none, allow, deny = authorizer.DecisionNoOpinion, authorizer.DecisionAllow, authorizer.DecisionDeny
	denied := func(name string) authorizer.Authorizer {
		return opinion(func(a authorizer.Attributes) authorizer.Decision {
			if a.GetUser().GetName() == name {
				return deny
			}
			return none
		})
	}
	conditional := func(d *v1alpha1.AuthorityDelegation) {
		d.Spec.Conditions = []v1alpha1.DelegationCondition{{Expression: "true"}}
		d.Status.Rules = []rbacv1.PolicyRule{rule([]string{"get", "update"}, []string{""}, []string{"pods"}, nil)}
	}
	for name, tc := range map[string]struct {
		verb   string
		held   []string // verbs of the delegator
		first  authorizer.Authorizer
		change func(*v1alpha1.AuthorityDelegation)
		other  bool // not the request itself
		want   authorizer.Decision
		reason delegation.Reason
		err    error
		used   bool
	}{
		"allowed":                           {verb: "get", held: []string{"get"}, want: allow, used: true},
		"allowed, another question":         {verb: "get", held: []string{"get"}, other: true, want: allow, reason: "Earlier"},
		"not held":                          {verb: "get", want: none, reason: delegation.NotHeld},
		"not held, another question":        {verb: "get", other: true, want: none, reason: "Earlier"},
		"not covered":                       {verb: "delete", held: []string{"delete"}, want: none, reason: delegation.NotCovered},
		"denied to the delegator":           {verb: "get", held: []string{"get"}, first: denied("alice"), want: deny, reason: delegation.Denied},
		"denied to the caller":              {verb: "get", held: []string{"get"}, first: denied("bot"), want: deny, reason: delegation.Denied},
		"denied to it, another question":    {verb: "get", held: []string{"get"}, first: denied("bot"), other: true, want: deny, reason: "Earlier"},
		"no answer about the delegator":     {verb: "get", first: failing{"alice", "get", authorizer.DecisionNoOpinion}, want: none, reason: "Earlier", err: errFailing},
		"no answer about the caller":        {verb: "get", held: []string{"get"}, first: failing{"bot", "get", authorizer.DecisionNoOpinion}, want: allow, used: true},
		"conditions, no answer about reads": {verb: "update", held: []string{"update"}, first: failing{"alice", "get", authorizer.DecisionNoOpinion}, change: conditional, want: none, reason: "Earlier", err: errFailing},
		"conditions, all is held":           {verb: "update", held: []string{"update", "get"}, change: conditional, want: allow, used: true},
	} {
		t.Run(name, func(t *testing.T) {
			p, d, idle := newPolicy(), delegated(on("get", "pods")), int64(60)
			if tc.held != nil {
				put(t, p.clusterRoles, clusterRole("held", rule(tc.held, []string{""}, []string{"pods"}, nil)))
				put(t, p.roleBindings, binding("n", "a", "ClusterRole", "held", named("alice")))
			}
			d.Spec.IdleSeconds, d.CreationTimestamp = &idle, metav1.NewTime(time.Now().Add(-30*time.Second))
			if tc.change != nil {
				tc.change(d)
			}
			x, chain := indexed(d), []authorizer.Authorizer{p.rbac}
			if tc.first != nil {
				chain = []authorizer.Authorizer{tc.first, p.rbac}
			}
			a := New(chained(t, p.rbac, chain...), x, nil)
			ctx, q := asBot(t, tc.verb, "", "pods", "")
			s := q.User.(*User)
			s.refused.Store(&delegation.Refusal{Reason: "Earlier"})
			if tc.other {
				ctx = t.Context()
			}
			got, _, err := a.Authorize(ctx, q)
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("decision %v, error %v", got, err)
			}
			var reason delegation.Reason
			if refusal := s.refused.Load(); refusal != nil {
				reason = refusal.Reason
			}
			if reason != tc.reason {
				t.Errorf("the reason of the refusal is %q, wanted %q", reason, tc.reason)
			}
			if used := len(x.UnwrittenUses()) > 0; used != tc.used || s.allowed.Load() != tc.used {
				t.Errorf("used: %t, counted as allowed: %t", used, s.allowed.Load())
			}
		})
	}
}

// TestErrorsOfSelected checks that an error of the authorizer is passed on with the decision about a caller with a selection.
func TestErrorsOfSelected(t *testing.T) {
	p := newPolicy()
	put(t, p.clusterRoles, clusterRole("held", on("get", "pods")))
	put(t, p.roleBindings, binding("n", "a", "ClusterRole", "held", named("alice")))
	a := New(chained(t, p.rbac, p.rbac, failing{"bot", "get", authorizer.DecisionNoOpinion}), indexed(delegated(on("get", "pods"), on("get", "secrets"))), nil)
	for _, resource := range []string{"pods", "secrets"} {
		ctx, q := asBot(t, "get", "", resource, "")
		if got, _, err := a.Authorize(ctx, q); (got == authorizer.DecisionAllow) != (resource == "pods") || got != authorizer.DecisionAllow && err != nil {
			t.Errorf("%s under a delegation: %v, %v", resource, got, err)
		}
	}
	denies := New(chained(t, p.rbac, failing{"bot", "get", authorizer.DecisionDeny}, p.rbac), indexed(delegated(on("get", "pods"))), nil)
	ctx, q := asBot(t, "get", "", "pods", "")
	if got, _, err := denies.Authorize(ctx, q); got != authorizer.DecisionDeny || !errors.Is(err, errFailing) {
		t.Errorf("denied with an error: %v, %v", got, err)
	}
	broken := New(chained(t, failing{"bot", "get", authorizer.DecisionNoOpinion}, failing{"bot", "get", authorizer.DecisionNoOpinion}), nil, nil)
	q.User = selecting(t, WithoutSelection(q.User), selection.ClusterRole("view"))
	if got, _, err := broken.Authorize(t.Context(), q); got != authorizer.DecisionNoOpinion || !errors.Is(err, errFailing) {
		t.Errorf("under a role: %v, %v", got, err)
	}
}

// TestDelegatorIsLookedUp checks that RBAC looks up the bindings of the delegator where the request is about the caller, also
// for a delegator with more groups than the index by subject looks up.
func TestDelegatorIsLookedUp(t *testing.T) {
	for _, groups := range []int{0, 10_000} {
		p, d := newPolicy(), delegated(on("get", "pods"))
		put(t, p.clusterRoles, clusterRole("held", on("get", "pods")))
		put(t, p.roleBindings, binding("n", "a", "ClusterRole", "held", named("alice")))
		d.Status.Delegator.Groups = words("g", groups)
		a := New(chained(t, p.rbac, p.rbac), indexed(d), nil)
		ctx, q := asBot(t, "get", "", "pods", "")
		if got, reason, err := a.Authorize(rbacindex.For(ctx, q), q); got != authorizer.DecisionAllow || err != nil {
			t.Errorf("%d groups: %v, %s, %v", groups, got, reason, err)
		}
	}
}
