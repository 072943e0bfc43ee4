// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
)

// TestHandovers checks what the audit log says about how a caller got its identity: by the token of a pod, a node or
// another one, and by impersonation, in that order.
func TestHandovers(t *testing.T) {
	const robot = "system:serviceaccount:n:robot"
	pod := map[string][]string{serviceaccount.PodNameKey: {"p"}, serviceaccount.PodUIDKey: {"pu"}, serviceaccount.NodeNameKey: {"w"}, serviceaccount.NodeUIDKey: {"wu"}}
	node := map[string][]string{serviceaccount.PodNameKey: {}, serviceaccount.NodeNameKey: {"w"}, serviceaccount.NodeUIDKey: {"wu"}}
	credential := map[string][]string{user.CredentialIDKey: {"c"}}
	token := func(name string, uid types.UID, credential string) v1alpha1.ChainEntry {
		return v1alpha1.ChainEntry{Via: v1alpha1.ViaToken, By: robot, ByUID: "u", Name: name, UID: uid, Credential: credential}
	}
	ofPod, ofNode := token("Pod/p", "pu", ""), token("Node/w", "wu", "")
	impersonated := v1alpha1.ChainEntry{Via: v1alpha1.ViaImpersonation, By: "admin", ByUID: "a"}
	byRobot := v1alpha1.ChainEntry{Via: v1alpha1.ViaImpersonation, By: robot, ByUID: "u"}
	account := func(extra map[string][]string) user.Info {
		return &user.DefaultInfo{Name: robot, UID: "u", Extra: extra}
	}
	for name, tc := range map[string]struct {
		impersonator, caller user.Info
		want                 []v1alpha1.ChainEntry
	}{
		"a person":                         {caller: &user.DefaultInfo{Name: "jane", Extra: credential}},
		"an account":                       {caller: account(nil)},
		"the token of a pod":               {caller: account(pod), want: []v1alpha1.ChainEntry{ofPod}},
		"the token of a node":              {caller: account(node), want: []v1alpha1.ChainEntry{ofNode}},
		"another token":                    {caller: account(credential), want: []v1alpha1.ChainEntry{token("", "", "c")}},
		"by a person":                      {impersonator: &user.DefaultInfo{Name: "admin", UID: "a"}, caller: account(pod), want: []v1alpha1.ChainEntry{impersonated}},
		"by an account with a pod's token": {impersonator: account(pod), caller: &user.DefaultInfo{Name: "jane"}, want: []v1alpha1.ChainEntry{ofPod, byRobot}},
	} {
		ctx := t.Context()
		if tc.impersonator != nil {
			ctx = context.WithValue(ctx, impersonatorKey{}, tc.impersonator)
		}
		if diff := cmp.Diff(tc.want, Handovers(ctx, tc.caller)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestImpersonatorIsKept checks that the sender of a request that impersonates is kept, where the server serves
// delegations.
func TestImpersonatorIsKept(t *testing.T) {
	sender := &user.DefaultInfo{Name: "admin"}
	for name, tc := range map[string]struct {
		delegations         *delegation.Index
		impersonates, known bool
		want                bool
	}{
		"impersonation":                {delegation.NewIndex(), true, true, true},
		"no impersonation":             {delegation.NewIndex(), false, true, false},
		"without delegations":          {nil, true, true, false},
		"of a sender who is not known": {delegation.NewIndex(), true, false, false},
	} {
		ctx := t.Context()
		if tc.known {
			ctx = request.WithUser(ctx, sender)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.impersonates {
			req.Header.Set(authenticationv1.ImpersonateUserHeader, "jane")
		}
		kept := Selection{Delegations: tc.delegations}.withImpersonator(req).Context().Value(impersonatorKey{})
		if (kept != nil) != tc.want || tc.want && kept != user.Info(sender) {
			t.Errorf("%s: %v", name, kept)
		}
	}
}

// TestDelegationsServed checks that a selected delegation is refused until the server has read all of them, and that
// a role is not.
func TestDelegationsServed(t *testing.T) {
	synced := delegation.NewIndex()
	if err := synced.ReflectorStore().Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	caller := &user.DefaultInfo{Name: "u"}
	role := selecting(t, caller, selection.ClusterRole("x"))
	delegated := selecting(t, caller, &selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{Kind: selection.AuthorityDelegationKind, Name: "d"}})
	for name, tc := range map[string]struct {
		index *delegation.Index
		u     *User
		is    func(error) bool
	}{
		"a role":                            {nil, role, nil},
		"a role, before they are read":      {delegation.NewIndex(), role, nil},
		"a delegation that is not served":   {nil, delegated, apierrors.IsBadRequest},
		"a delegation that is not read yet": {delegation.NewIndex(), delegated, apierrors.IsServiceUnavailable},
		"a delegation":                      {synced, delegated, nil},
	} {
		if err := (Selection{Delegations: tc.index}).checkServed(tc.u); (err == nil) != (tc.is == nil) || err != nil && !tc.is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConditionsAreRequired checks for which requests under conditions every write must be verified: those of
// resources but for reviews of oneself.
func TestConditionsAreRequired(t *testing.T) {
	chainOf := func(conditions ...v1alpha1.DelegationCondition) *delegation.Chain {
		x := delegation.NewIndex()
		x.Connect(delegation.Sources{Namespace: namespaceUID})
		d := &v1alpha1.AuthorityDelegation{Spec: v1alpha1.AuthorityDelegationSpec{Conditions: conditions, Scope: v1alpha1.DelegationScope{Cluster: true},
			Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "u"}}}}
		d.Name, d.UID, d.ResourceVersion = "d", "d", "1"
		x.Observe(d, false)
		chain, refusal := x.Chain(t.Context(), "d", "", &user.DefaultInfo{Name: "u"})
		if refusal != nil {
			t.Fatal(refusal)
		}
		return chain
	}
	conditional, plain := chainOf(v1alpha1.DelegationCondition{Expression: "true"}), chainOf()
	pods := &request.RequestInfo{IsResourceRequest: true, Resource: "pods", Verb: "create"}
	review := &request.RequestInfo{IsResourceRequest: true, APIGroup: "authorization.k8s.io", Resource: "selfsubjectaccessreviews", Verb: "create"}
	for name, tc := range map[string]struct {
		chain *delegation.Chain
		info  *request.RequestInfo
		want  bool
	}{
		"conditions":                {conditional, pods, true},
		"no conditions":             {plain, pods, false},
		"no delegation":             {nil, pods, false},
		"a review of oneself":       {conditional, review, false},
		"a URL":                     {conditional, &request.RequestInfo{Path: "/healthz"}, false},
		"a request of no one knows": {conditional, nil, false},
	} {
		ctx := t.Context()
		if tc.info != nil {
			ctx = request.WithRequestInfo(ctx, tc.info)
		}
		got := requireConditions(ctx, tc.chain)
		if (got != ctx) != tc.want {
			t.Errorf("%s: required: %t", name, got != ctx)
		}
	}
}
