// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/apis/audit"
	upstreamaudit "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	ours "kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/delegation"
)

// audited returns the context of a request with an audit event, and what reads an annotation of it.
func audited(t *testing.T) (context.Context, func(name string) string) {
	t.Helper()
	ctx := upstreamaudit.WithAuditContext(t.Context())
	if err := upstreamaudit.AuditContextFrom(ctx).Init(upstreamaudit.RequestAuditConfig{Level: audit.LevelMetadata}, nil); err != nil {
		t.Fatal(err)
	}
	return ctx, func(name string) string {
		value, _ := upstreamaudit.AuditContextFrom(ctx).GetEventAnnotation(name)
		return value
	}
}

// byRobot returns a delegation that a service account created, to u.
func byRobot(uid types.UID, version string) *v1alpha1.AuthorityDelegation {
	d := &v1alpha1.AuthorityDelegation{Spec: v1alpha1.AuthorityDelegationSpec{Scope: v1alpha1.DelegationScope{Cluster: true},
		Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "u"}}}}
	d.Name, d.UID, d.ResourceVersion = "d", uid, version
	d.Status.Delegator = v1alpha1.DelegatorIdentity{Username: "system:serviceaccount:n:robot", UID: "r"}
	return d
}

// TestChainIsAudited checks that the audit log has the chain of a known delegation, also if it can't be used, and that
// a request ends with a 503 if it is not known whether the delegator exists.
func TestChainIsAudited(t *testing.T) {
	u := &user.DefaultInfo{Name: "u"}
	ofDelegation := &selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{Kind: selection.AuthorityDelegationKind, Name: "d"}}
	for name, tc := range map[string]struct {
		caller           user.Info
		unstored         bool
		known            types.UID // of the service account
		failed           error
		chain, unsure    bool
		audited, refused bool
	}{
		"a delegation":           {caller: u, known: "r", chain: true, audited: true},
		"of another caller":      {caller: &user.DefaultInfo{Name: "v"}, known: "r", chain: true, audited: true},
		"of a deleted account":   {caller: u, chain: true, audited: true, known: "other"},
		"of an account unknown":  {caller: u, failed: errors.New("no answer"), unsure: true, audited: true, refused: true},
		"a delegation not known": {caller: u, known: "r", unstored: true},
	} {
		x := delegation.NewIndex()
		x.Connect(delegation.Sources{Accounts: delegation.NewAccounts(func(string, string) types.UID { return tc.known },
			func(context.Context, string, string) (types.UID, error) { return tc.known, tc.failed })})
		if !tc.unstored {
			x.Observe(byRobot("d", "1"), false)
		}
		before := results(t)["refused DelegatorUnknown "]
		ctx, annotation := audited(t)
		chain, err := Selection{Delegations: x}.auditChain(ctx, selecting(t, tc.caller, ofDelegation))
		if (chain != nil) != tc.chain || apierrors.IsServiceUnavailable(err) != tc.unsure || (err != nil) != tc.unsure {
			t.Errorf("%s: %v, %v", name, chain, err)
		}
		if got := annotation(ours.ChainAnnotation); strings.Contains(got, "robot") != tc.audited {
			t.Errorf("%s: the audit log has the chain %q", name, got)
		}
		if got := annotation(ours.RefusedAnnotation); (got == string(delegation.DelegatorUnknown)) != tc.refused {
			t.Errorf("%s: the audit log has the refusal %q", name, got)
		}
		if got := results(t)["refused DelegatorUnknown "] - before; (got == 1) != tc.refused {
			t.Errorf("%s: counted %v times", name, got)
		}
	}
}

// TestUnknownBindingIsAudited checks that the audit log says under which delegation a bound account acts that the server does
// not know. Somebody who only selects such a delegation does not act under it.
func TestUnknownBindingIsAudited(t *testing.T) {
	const gone = `{"authorityReference":{"kind":"AuthorityDelegation","name":"gone","uid":"gone"}}`
	x := delegation.NewIndex()
	for name, tc := range map[string]struct {
		bound *Bound
		want  string
	}{"bound": {boundTo(`{"name":"gone","uid":"gone"}`), `[{"via":"Delegation","name":"gone","uid":"gone"}]`}, "selects it": {nil, ""}} {
		u, err := UserOf(agentWith("account-1", gone))
		if err != nil {
			t.Fatal(err)
		}
		if tc.bound != nil {
			u = tc.bound.of(u).user(agentWith("account-1", ""))
		}
		ctx, annotation := audited(t)
		if chain, err := (Selection{Delegations: x}).auditChain(ctx, u); chain != nil || err != nil {
			t.Errorf("%s: %v, %v", name, chain, err)
		}
		if got := annotation(ours.ChainAnnotation); got != tc.want {
			t.Errorf("%s: the audit log has the chain %q, wanted %q", name, got, tc.want)
		}
	}
}

// TestRefusalIsAudited checks that the audit log has the last refusal of a request, if there is one.
func TestRefusalIsAudited(t *testing.T) {
	s := selecting(t, &user.DefaultInfo{Name: "u"}, selection.ClusterRole("x"))
	for _, refusal := range []*delegation.Refusal{nil, {Reason: delegation.NotHeld}} {
		ctx, annotation := audited(t)
		s.refused.Store(refusal)
		reportResult(ctx, s)
		want := ""
		if refusal != nil {
			want = string(refusal.Reason)
		}
		if got := annotation(ours.RefusedAnnotation); got != want {
			t.Errorf("the audit log has %q, want %q", got, want)
		}
	}
}

// TestChainStaysTheSame checks that all questions of a request are about the delegation that was found first, and not
// about a new one of the same name.
//
// Attack: replacing a delegation while a request under it is authorized
// Answer: 403
func TestChainStaysTheSame(t *testing.T) {
	x := delegation.NewIndex()
	x.Observe(byRobot("first", "1"), false)
	s := selecting(t, &user.DefaultInfo{Name: "u"}, &selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{Kind: selection.AuthorityDelegationKind, Name: "d"}})
	if chain, refusal := s.Chain(t.Context(), x); refusal != nil || chain.Leaf().UID != "first" {
		t.Fatal(chain, refusal)
	}
	x.Observe(byRobot("first", "2"), true)
	x.Observe(byRobot("second", "3"), false)
	if chain, refusal := s.Chain(t.Context(), x); refusal == nil {
		t.Errorf("the request goes on under %s", chain.Leaf().UID)
	}
	again := selecting(t, &user.DefaultInfo{Name: "u"}, &selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{Kind: selection.AuthorityDelegationKind, Name: "d"}})
	if chain, refusal := again.Chain(t.Context(), x); refusal != nil || chain.Leaf().UID != "second" {
		t.Errorf("another request: %v, %v", chain, refusal)
	}
}
