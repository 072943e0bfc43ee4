// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/granular/protect"
)

// TestNobodyHolds checks that a request without a user holds no role, and that this is no error.
func TestNobodyHolds(t *testing.T) {
	p := &protected{requestInfo: requestInfo{attributes: upstream.AttributesRecord{}},
		gate: New(&grants{}, WithProtection(&inForce{holds: []string{"Role/any"}}))}
	if holds, err := p.Holds(context.Background(), protect.Reference{Kind: protect.Role, Name: "any"}); holds || err != nil {
		t.Errorf("%t, %v", holds, err)
	}
}

// allowsWithError is an authorizer that returns an error with every decision.
type allowsWithError struct{ questioned }

func (a *allowsWithError) Authorize(ctx context.Context, of upstream.Attributes) (upstream.Decision, string, error) {
	decision, reason, _ := a.questioned.Authorize(ctx, of)
	return decision, reason, errors.New("out of order")
}

// TestBypassIsAskedOnce checks that the authorizer decides about the bypass once for all attempts
// of a request. If it fails, it is asked again in the next attempt. An error that comes with
// Allow is ignored.
func TestBypassIsAskedOnce(t *testing.T) {
	of := endpoint(t, kindNamed("/v1/Pod"), "pods")
	allowing := &allowsWithError{questioned{grants: grants{allow: []string{BypassVerb}}}}
	denying, unanswered := &questioned{}, &questioned{grants: grants{fail: []string{BypassVerb}}}
	for name, tc := range map[string]struct {
		authorizer upstream.Authorizer
		asked      *questioned
		times      int
		is         func(error) bool
	}{
		"allowed":   {allowing, &allowing.questioned, 1, func(err error) bool { return err == nil }},
		"refused":   {denying, denying, 1, apierrors.IsForbidden},
		"no answer": {unanswered, unanswered, 2, apierrors.IsInternalError},
	} {
		ctx := contextOf("update", of, "n", "x")
		w := New(tc.authorizer, WithProtection(&inForce{set: protect.New(env)})).Begin(ctx, of)
		for range 2 {
			if err := goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))); !tc.is(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(tc.asked.all); n != tc.times {
			t.Errorf("%s: asked %d times", name, n)
		}
	}
}

// onlyFor is an authorizer that allows the verbs to one user.
type onlyFor struct {
	questioned
	name string
}

func (o *onlyFor) Authorize(ctx context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	decision, reason, err := o.questioned.Authorize(ctx, a)
	if a.GetUser().GetName() != o.name {
		return upstream.DecisionNoOpinion, reason, err
	}
	return decision, reason, err
}

// TestBypassUnderDelegations checks whose verb "bypass" counts if the caller acts under a
// delegation of a policy: that of the caller itself counts too. If nobody holds the verb, if the
// delegation is not of a policy, or if the authorizer fails, the write is refused. A role of the
// delegator does not count.
func TestBypassUnderDelegations(t *testing.T) {
	of := endpoint(t, kindNamed("/v1/Pod"), "pods")
	self := func(context.Context, user.Info) user.Info { return &user.DefaultInfo{Name: "controller"} }
	nobody := func(context.Context, user.Info) user.Info { return nil }
	for name, tc := range map[string]struct {
		byPolicy func(context.Context, user.Info) user.Info
		holder   string
		grants   grants
		// asked is how often the authorizer is asked in two attempts.
		asked int
		is    func(error) bool
	}{
		"the controller holds it": {self, "controller", grants{allow: []string{BypassVerb}}, 2, func(err error) bool { return err == nil }},
		"nobody holds it":         {self, "controller", grants{}, 2, apierrors.IsForbidden},
		"another holds it":        {self, "ron", grants{allow: []string{BypassVerb}}, 2, apierrors.IsForbidden},
		"not by a policy":         {nobody, "controller", grants{allow: []string{BypassVerb}}, 1, apierrors.IsForbidden},
		"no delegations":          {nil, "controller", grants{allow: []string{BypassVerb}}, 1, apierrors.IsForbidden},
		"no answer":               {self, "controller", grants{fail: []string{BypassVerb}}, 2, apierrors.IsInternalError},
	} {
		a := &onlyFor{questioned: questioned{grants: tc.grants}, name: tc.holder}
		ctx := contextOf("update", of, "n", "x")
		w := New(a, WithProtection(&inForce{set: protect.New(env)}), WithDelegates(tc.byPolicy)).Begin(ctx, of)
		for range 2 {
			if err := goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))); !tc.is(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(a.all); n != tc.asked {
			t.Errorf("%s: asked %d times", name, n)
		}
	}
}

// TestProtectionOfNobody checks that a write without request info is refused if anything may be
// protected: an update, a binding, and the create that an update implies.
func TestProtectionOfNobody(t *testing.T) {
	ctx := context.Background()
	of := endpoint(t, kindNamed("/v1/Pod"), "pods")
	gate := New(&grants{allow: []string{"granular"}}, WithProtection(&inForce{set: protect.New(env)}))
	w := gate.Begin(ctx, of)
	if w == nil || !apierrors.IsInternalError(w.Verify(ctx, sentObject(t, podAt(bare)), nil)) {
		t.Errorf("an update is verified by %v", w)
	}
	if w, decision, _, err := gate.AuthorizeCreate(ctx, of, nil, attributes("create")); err == nil || decision == upstream.DecisionAllow || w != nil {
		t.Errorf("a create comes to %v, %v, %v", w, decision, err)
	}
	of.Kind = bound
	operation, ok := gate.BeginOperation(ctx, of).(refuseAll)
	if !ok {
		t.Fatalf("a binding is verified by %v", operation)
	}
	for step, f := range map[string]func(ctx context.Context, newObj, oldObj runtime.Object) error{"observed": operation.Observe, "verified": operation.Verify, "changed": operation.Changed} {
		if err := f(ctx, stored(t, podAt(bare)), nil); !apierrors.IsInternalError(err) {
			t.Errorf("a binding, %s: %v", step, err)
		}
	}
}

// TestBindingOfWhatHasNone checks that verifying a binding fails if the binding or its pod has no
// metadata.
func TestBindingOfWhatHasNone(t *testing.T) {
	of := endpoint(t, kindNamed("/v1/Pod"), "pods/binding")
	of.Kind = bound
	ctx := contextOf("create", of, "n", "x")
	w, ok := New(&questioned{}, WithProtection(&inForce{set: protect.New(env)})).BeginOperation(ctx, of).(*binding)
	if !ok {
		t.Fatal("nothing to verify")
	}
	if w.Observe(ctx, &metav1.Status{}, nil) == nil {
		t.Error("no error of what is no binding")
	}
	if err := w.Observe(ctx, stored(t, podAt(envProd)), nil); err != nil {
		t.Fatal(err)
	}
	if w.Changed(ctx, stored(t, podAt(envProd)), &metav1.Status{}) == nil {
		t.Error("no error of what is no pod")
	}
}

// TestScaleHasNoAttributes checks that the labels of a scale are not verified, because they are
// not stored.
func TestScaleHasNoAttributes(t *testing.T) {
	of := endpoint(t, kindNamed("apps/v1/Deployment"), "deployments/scale")
	gate := New(&grants{}, WithProtection(&inForce{set: protect.New(env)}))
	if w := gate.Begin(contextOf("update", of, "n", "x"), of); w != nil {
		t.Errorf("verified by %v", w)
	}
}
