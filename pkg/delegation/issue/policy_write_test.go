// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
)

// TestNothingConfigured holds that without a policy, a delegation and a selection a write gets
// no final check, and allocates nothing for it.
func TestNothingConfigured(t *testing.T) {
	index := delegation.NewIndex()
	checks := FinalChecks{Delegations: index,
		Policies: &PolicyIssuer{Policies: policy.NewIndex(), Issuer: &Issuer{Delegations: index}}}
	if err := checks.Policies.Policies.ReflectorStore().Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"})
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "create", Resource: "pods"})
	if n := testing.AllocsPerRun(100, func() {
		if checks.Commit(ctx, false) != nil {
			t.Fatal("the write gets a final check, though nothing is configured")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	// A forged stamp could name a delegation, even one that no policy issued. So writes are
	// checked as soon as there is one.
	index.Observe(&v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d", ResourceVersion: "2"}}, false)
	if checks.Commit(ctx, false) == nil {
		t.Error("the write gets no final check, though there is a delegation")
	}
	index.Observe(&v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d", ResourceVersion: "3"}}, true)
	if checks.Commit(ctx, false) != nil {
		t.Error("the write gets a final check after the delegation was removed")
	}
	// With a policy, even one for another resource, only the server may write stamps.
	checks.Policies.Policies.Observe(&v1alpha1.AuthorityDelegationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", ResourceVersion: "2"}, Spec: v1alpha1.AuthorityDelegationPolicySpec{Resource: v1alpha1.GroupResource{Resource: "secrets"}}}, false)
	if checks.Commit(ctx, false) == nil {
		t.Error("the write gets no final check, though there is a policy")
	}
}

// TestNotBuilt checks that no user writes before the policies can be asked, if the server serves
// policies, and that a server without them lets writes pass.
func TestNotBuilt(t *testing.T) {
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"})
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "create", Resource: "pods"})
	check := FinalChecks{Delegations: delegation.NewIndex()}.Commit(ctx, false)
	if check == nil {
		t.Fatal("the write gets no final check")
	}
	check.Before(&corev1.Pod{})
	if err := check.Begin(&corev1.Pod{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("the write is refused with %v", err)
	}
	check.End()
	if (FinalChecks{}).Commit(ctx, false) != nil {
		t.Error("a write to a server without delegations gets a final check")
	}
	if (FinalChecks{Delegations: delegation.NewIndex()}).Commit(t.Context(), false) != nil {
		t.Error("a write of the server itself, without a user, gets a final check")
	}
}

// TestSameInAll holds that a policy reuses an existing delegation of the wanted name only if it
// is equal to the wanted one in all that bears on authority.
//
// Attack: a policy finds an older delegation by its name, with more rules, no condition, or of another user
// Answer: it is not used
func TestSameInAll(t *testing.T) {
	want := func() *v1alpha1.AuthorityDelegation {
		return &v1alpha1.AuthorityDelegation{
			ObjectMeta: metav1.ObjectMeta{Name: "by-policy-x", UID: "u", ResourceVersion: "1"},
			Spec: v1alpha1.AuthorityDelegationSpec{Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "bot"}},
				Conditions: []v1alpha1.DelegationCondition{{Expression: "true"}}},
			Status: v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: "alice", UID: "a-1"},
				NamespaceUID: "n", Cause: &v1alpha1.DelegationCause{Policy: "p", UID: "p-1"}},
		}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.AuthorityDelegation)
		same   bool
	}{
		"the same":      {func(*v1alpha1.AuthorityDelegation) {}, true},
		"renewed":       {func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause.Renewed = &metav1.Time{} }, true},
		"used":          {func(d *v1alpha1.AuthorityDelegation) { d.Status.LastUsed = &metav1.Time{} }, true},
		"labelled":      {func(d *v1alpha1.AuthorityDelegation) { d.Labels = map[string]string{"a": "b"} }, true},
		"no condition":  {func(d *v1alpha1.AuthorityDelegation) { d.Spec.Conditions = nil }, false},
		"to another":    {func(d *v1alpha1.AuthorityDelegation) { d.Spec.Delegates[0].Name = "eve" }, false},
		"another alice": {func(d *v1alpha1.AuthorityDelegation) { d.Status.Delegator.UID = "a-2" }, false},
		"another group": {func(d *v1alpha1.AuthorityDelegation) { d.Status.Delegator.Groups = []string{"admins"} },
			false},
		"another policy":    {func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause.UID = "p-2" }, false},
		"another namespace": {func(d *v1alpha1.AuthorityDelegation) { d.Status.NamespaceUID = "m" }, false},
		"kept":              {func(d *v1alpha1.AuthorityDelegation) { d.Spec.IfLost = v1alpha1.LossKeep }, false},
		"another chain": {func(d *v1alpha1.AuthorityDelegation) {
			d.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaDelegation, By: "carol", UID: "c"}}
		}, false},
		"asked for": {func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			is := want()
			tc.change(is)
			index := delegation.NewIndex()
			index.Observe(is, false)
			if got := sameAuthority(index.ByName(is.Name), want()); got != tc.same {
				t.Errorf("same: %v, wanted %v", got, tc.same)
			}
			// Delegations that differ also get different names.
			is.Status.LastUsed = nil
			if is.Status.Cause != nil {
				is.Status.Cause.Renewed = nil
			}
			if got := contentNames(is)(0) == contentNames(want())(0); got != tc.same {
				t.Errorf("same name: %v, wanted %v", got, tc.same)
			}
		})
	}
}
