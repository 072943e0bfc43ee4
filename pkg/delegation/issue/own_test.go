// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/fake"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

// TestAccountsAreRecorded checks that a delegation records which service account created it, also if the
// request does not say so. Other users have the UID that the request has.
//
// Attack: creating a delegation by impersonation of a service account, which is then deleted and created anew
// Answer: the delegation records the UID of the first account, and ends with it; 403 if there is no such account
// Was: it belonged to each account of the name
func TestAccountsAreRecorded(t *testing.T) {
	d := &Issuer{Client: fake.NewClientset(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "robot", UID: "r-1"}})}
	for name, tc := range map[string]struct {
		caller user.DefaultInfo
		want   string
		fails  bool
	}{
		"a token":            {user.DefaultInfo{Name: "system:serviceaccount:n:robot", UID: "r-0"}, "r-0", false},
		"impersonated":       {user.DefaultInfo{Name: "system:serviceaccount:n:robot"}, "r-1", false},
		"no such account":    {user.DefaultInfo{Name: "system:serviceaccount:n:other"}, "", true},
		"another namespace":  {user.DefaultInfo{Name: "system:serviceaccount:m:robot"}, "", true},
		"a person":           {user.DefaultInfo{Name: "robot"}, "", false},
		"a person and a UID": {user.DefaultInfo{Name: "robot", UID: "p-1"}, "p-1", false},
	} {
		got, err := d.delegatorOf(t.Context(), &tc.caller)
		if (err != nil) != tc.fails || err == nil && got.UID != tc.want {
			t.Errorf("%s: %q, %v", name, got.UID, err)
		}
	}
}

// TestConfirmOwn checks who may end a delegation because it is the user's own: nobody but the user that the delegation
// names, with its UID.
func TestConfirmOwn(t *testing.T) {
	only := refusal{apierrors.IsForbidden, "only the user that status.delegator names"}
	for name, tc := range map[string]struct {
		delegator v1alpha1.DelegatorIdentity
		caller    user.Info
		refusal
	}{
		"the creator":              {v1alpha1.DelegatorIdentity{Username: "alice", UID: "a"}, &user.DefaultInfo{Name: "alice", UID: "a"}, refusal{}},
		"the creator, no UID":      {v1alpha1.DelegatorIdentity{Username: "alice"}, &user.DefaultInfo{Name: "alice"}, refusal{}},
		"another user":             {v1alpha1.DelegatorIdentity{Username: "alice", UID: "a"}, &user.DefaultInfo{Name: "bob", UID: "a"}, only},
		"another of the name":      {v1alpha1.DelegatorIdentity{Username: "alice", UID: "a"}, &user.DefaultInfo{Name: "alice", UID: "b"}, only},
		"one without the UID":      {v1alpha1.DelegatorIdentity{Username: "alice", UID: "a"}, &user.DefaultInfo{Name: "alice"}, only},
		"anybody, of nobody":       {v1alpha1.DelegatorIdentity{}, &user.DefaultInfo{}, only},
		"anonymous":                {v1alpha1.DelegatorIdentity{Username: user.Anonymous}, &user.DefaultInfo{Name: user.Anonymous}, only},
		"the creator, by a role":   {v1alpha1.DelegatorIdentity{Username: "alice"}, selects(user.DefaultInfo{Name: "alice"}, selection.ClusterRoleKind, "r"), refusal{apierrors.IsForbidden, "while an authority is selected"}},
		"a request without a user": {v1alpha1.DelegatorIdentity{}, nil, refusal{apierrors.IsForbidden, "only an authenticated user"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := newScene(t), wanted()
			d.Status.Delegator = tc.delegator
			ctx := s.ctx
			if tc.caller != nil {
				ctx = s.by(tc.caller)
			}
			tc.check(t, s.issuer.ConfirmOwn(ctx, d))
		})
	}
}

// TestOtherDelegator checks that a user who creates a delegation that another one had created, as from a backup, learns
// that it delegates the user's own rights.
func TestOtherDelegator(t *testing.T) {
	caller := &user.DefaultInfo{Name: "alice", UID: "a"}
	for name, tc := range map[string]struct {
		sent  v1alpha1.DelegatorIdentity
		warns bool
	}{
		"nothing":              {v1alpha1.DelegatorIdentity{}, false},
		"the caller":           {v1alpha1.DelegatorIdentity{Username: "alice", UID: "a"}, false},
		"the caller, no UID":   {v1alpha1.DelegatorIdentity{Username: "alice"}, false},
		"another of the name":  {v1alpha1.DelegatorIdentity{Username: "alice", UID: "b"}, true},
		"another":              {v1alpha1.DelegatorIdentity{Username: "bob"}, true},
		"another with the UID": {v1alpha1.DelegatorIdentity{Username: "bob", UID: "a"}, true},
		"a UID without a name": {v1alpha1.DelegatorIdentity{UID: "a"}, true},
	} {
		s := newScene(t)
		warnOtherDelegator(s.ctx, &tc.sent, caller)
		if got := len(s.warnings) == 1; got != tc.warns || got && !strings.Contains(s.warnings[0], "this delegation belongs to you") {
			t.Errorf("%s: warnings %q", name, s.warnings)
		}
	}
}
