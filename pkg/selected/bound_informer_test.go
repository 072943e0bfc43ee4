// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/pkg/delegation"
)

// informed is an informer that hands its handler over, so that a test reports what an informer would.
type informed struct {
	cache.SharedInformer
	cache.ResourceEventHandler
	synced bool
	err    error
	// store is what the informer has, whether or not it has reported it.
	store cache.Store
}

func (i *informed) GetStore() cache.Store { return i.store }

func (i *informed) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.ResourceEventHandler = h
	return registration{i: i}, i.err
}

type registration struct {
	cache.ResourceEventHandlerRegistration
	i *informed
}

func (r registration) HasSynced() bool { return r.i.synced }

// TestBoundFollowsInformer checks that a Bound has the accounts that an informer reports, and binds every account to
// nothing until the informer has reported all.
func TestBoundFollowsInformer(t *testing.T) {
	b, i := NewBound(), &informed{}
	agent, other := &user.DefaultInfo{Name: agentName}, &user.DefaultInfo{Name: "system:serviceaccount:agents:other"}
	if b.of(other) != notRead {
		t.Error("an account is free before there is an informer")
	}
	if err := b.Connect(i); err != nil {
		t.Fatal(err)
	}
	if b.of(other) != notRead {
		t.Error("an account is free before all were read")
	}
	i.OnAdd(account("scaler", "account-1", boundToD), true)
	i.synced = true
	if got := b.of(agent); got == nil || got.reference.Name != "d" || b.of(other) != nil {
		t.Errorf("added: %v", got)
	}
	i.OnUpdate(account("scaler", "account-1", boundToD), account("scaler", "account-1", `{"name":"e","uid":"e"}`))
	if got := b.of(agent); got == nil || got.reference.Name != "e" {
		t.Errorf("updated: %v", got)
	}
	for name, gone := range map[string]any{"deleted": account("scaler", "account-1", ""),
		"deleted unseen": cache.DeletedFinalStateUnknown{Obj: account("scaler", "account-1", "")}} {
		i.OnAdd(account("scaler", "account-1", boundToD), false)
		i.OnDelete(gone)
		if got := b.of(agent); got != nil {
			t.Errorf("%s: %v", name, got)
		}
		if got := b.of(agentWith("account-1", "")); got != stale {
			t.Errorf("%s, with the UID: %v", name, got)
		}
	}
	i.OnAdd(&corev1.Pod{}, false)
	if err := NewBound().Connect(&informed{err: errors.New("stopped")}); err == nil {
		t.Error("an informer that takes no handler is no error")
	}
}

// TestBoundAfterIdle checks that an account is bound that is the first one after a time without any.
func TestBoundAfterIdle(t *testing.T) {
	b, agent := boundTo(""), &user.DefaultInfo{Name: agentName}
	if b.of(agent) != nil || b.active.Load() {
		t.Error("accounts are looked up although none is bound")
	}
	if !b.mu.TryLock() {
		t.Fatal("the lock is kept")
	}
	b.mu.Unlock()
	b.observe(account("scaler", "account-1", boundToD), false)
	if b.of(agent) == nil {
		t.Error("the account is free")
	}
}

// TestBoundLearns checks that a state that was read from storage is in force at once, and until the informer reports a later
// one; and that it never replaces a later state, which the informer has.
func TestBoundLearns(t *testing.T) {
	version := func(version string, annotation ...string) *corev1.ServiceAccount {
		out := account("scaler", "account-1", strings.Join(annotation, ""))
		out.ResourceVersion = version
		return out
	}
	const other = `{"name":"e","uid":"e"}`
	for name, c := range map[string]struct {
		// held is in the store of the informer.
		held *corev1.ServiceAccount
		then func(b *Bound, i *informed)
		// want is the delegation that the account has, or "" if it is free.
		want string
		// waits tells that the report of what was learned is still to come.
		waits bool
	}{
		"nothing is reported":          {version("4"), func(*Bound, *informed) {}, "d", true},
		"an earlier state":             {version("4"), func(_ *Bound, i *informed) { i.OnUpdate(nil, version("4", other)) }, "d", true},
		"the state itself":             {version("4"), func(_ *Bound, i *informed) { i.OnUpdate(nil, version("5", boundToD)) }, "d", false},
		"a later state":                {version("4"), func(_ *Bound, i *informed) { i.OnUpdate(nil, version("6", other)) }, "e", false},
		"released later":               {version("4"), func(_ *Bound, i *informed) { i.OnUpdate(nil, version("6")) }, "", false},
		"a later state, and again":     {version("4"), func(_ *Bound, i *informed) { i.OnUpdate(nil, version("6", other)); i.OnUpdate(nil, version("7")) }, "", false},
		"removed later":                {version("4"), func(_ *Bound, i *informed) { i.OnDelete(version("6", boundToD)) }, "", false},
		"an earlier one is removed":    {version("4"), func(_ *Bound, i *informed) { i.OnDelete(version("3")) }, "d", true},
		"removed, and it was missed":   {version("4"), func(_ *Bound, i *informed) { i.OnDelete(cache.DeletedFinalStateUnknown{Obj: version("3")}) }, "", false},
		"the informer has a later one": {version("6", other), func(*Bound, *informed) {}, "e", true},
		"the informer has released it": {version("6"), func(*Bound, *informed) {}, "", true},
		"the informer has none":        {nil, func(*Bound, *informed) {}, "d", true},
		"learned again, and released": {version("4"), func(b *Bound, i *informed) {
			b.Learn(version("7"))
			i.OnUpdate(nil, version("5", boundToD))
		}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			b, i := NewBound(), &informed{synced: true, store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
			if err := b.Connect(i); err != nil {
				t.Fatal(err)
			}
			i.OnAdd(version("3"), true)
			if c.held != nil {
				if err := i.store.Add(c.held); err != nil {
					t.Fatal(err)
				}
			}
			b.Learn(version("5", boundToD))
			c.then(b, i)
			got := ""
			if found := b.of(&user.DefaultInfo{Name: agentName}); found != nil {
				got = found.reference.Name
			}
			if got != c.want {
				t.Errorf("bound to %q, want %q", got, c.want)
			}
			if waits := len(b.learned) == 1; waits != c.waits {
				t.Errorf("waits for a report: %v", b.learned)
			}
		})
	}
	NewBound().Learn(version("5", boundToD)) // without an informer
	(*Bound)(nil).Learn(version("5", boundToD))
}

// TestBoundToNothing checks that an account with an annotation that is not valid is bound, and replaces nobody by it: other
// accounts, and users without a UID, are free.
func TestBoundToNothing(t *testing.T) {
	b := boundTo("nonsense")
	first := b.of(&user.DefaultInfo{Name: agentName})
	if first == nil || first.problem == nil {
		t.Fatalf("%v", first)
	}
	b.observe(account("scaler", "account-1", "nonsense"), false)
	if got := b.of(&user.DefaultInfo{Name: agentName}); got != first {
		t.Errorf("the same account with the same annotation: %v", got)
	}
	if got := b.of(&user.DefaultInfo{Name: "system:serviceaccount:agents:other"}); got != nil {
		t.Errorf("another account: %v", got)
	}
	if name := b.Account(noDelegation); name != "" {
		t.Errorf("%s is bound to a delegation that does not exist", name)
	}
}

// TestDeletedStaysBound checks how long the token of a deleted account gets nothing.
func TestDeletedStaysBound(t *testing.T) {
	b, moment := boundTo(boundToD), time.Now()
	b.now = func() time.Time { return moment }
	b.observe(account("scaler", "account-1", ""), true)
	for _, tc := range []struct {
		passed time.Duration
		want   bool
	}{{0, true}, {deletedStays, true}, {deletedStays + 1, false}} {
		now := moment.Add(tc.passed)
		b.now = func() time.Time { return now }
		b.observe(account("another", "account-3", ""), false)
		if got := b.of(agentWith("account-1", "")); (got == stale) != tc.want {
			t.Errorf("after %v: %v", tc.passed, got)
		}
	}
}

// TestAccountOfDelegation checks which account is bound to a delegation, while accounts are bound, bound anew and released.
func TestAccountOfDelegation(t *testing.T) {
	b := boundTo(boundToD)
	want := func(step string, uid types.UID, name string) {
		t.Helper()
		if got := b.Account(uid); got != name {
			t.Errorf("%s: %q, wanted %q", step, got, name)
		}
		if !b.mu.TryLock() {
			t.Fatal("the lock is kept")
		}
		b.mu.Unlock()
	}
	want("bound", "d", agentName)
	want("another delegation", "e", "")
	b.observe(account("scaler", "account-1", `{"name":"e","uid":"e"}`), false)
	want("bound anew", "d", "")
	want("bound anew", "e", agentName)
	b.observe(account("other", "account-2", `{"name":"e","uid":"e"}`), false)
	b.observe(account("scaler", "account-1", ""), false)
	want("one of two is released", "e", "system:serviceaccount:agents:other")
	b.observe(account("other", "account-2", ""), true)
	want("the other is deleted", "e", "")
	if (*Bound)(nil).Account("d") != "" {
		t.Error("an account is bound on a server without delegations")
	}
}

// TestBoundIdentity checks with which UID a bound account is found among the delegates: its own if the request has one.
func TestBoundIdentity(t *testing.T) {
	for _, tc := range []struct{ sent, account, want string }{{"", "a", "a"}, {"b", "a", "b"}, {"", "", ""}, {"b", "", "b"}} {
		b := &accountBinding{accountUID: types.UID(tc.account)}
		if got := b.identity(&user.DefaultInfo{Name: agentName, UID: tc.sent, Groups: []string{"g"}}); got.GetUID() != tc.want || got.GetName() != agentName || len(got.GetGroups()) != 1 {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
}

// TestNarrower checks why a bound account can't select an authority, also where the server has no delegations or the binding
// can't be used.
func TestNarrower(t *testing.T) {
	w := newAgents(t, boundToD)
	usable := w.bound.of(agentWith("", ""))
	for name, tc := range map[string]struct {
		binding  *accountBinding
		index    *delegation.Index
		selected string
		want     delegation.Reason
	}{
		"the delegation":           {usable, w.index, selectsD, ""},
		"below the delegation":     {usable, w.index, selectsChild, ""},
		"another":                  {usable, w.index, selectsOther, delegation.OtherBinding},
		"one that is gone":         {usable, w.index, `{"authorityReference":{"kind":"AuthorityDelegation","name":"gone"}}`, delegation.OtherBinding},
		"a role":                   {usable, w.index, view, delegation.OtherBinding},
		"a server without":         {usable, nil, selectsD, delegation.OtherBinding},
		"of a binding with faults": {boundTo("nonsense").of(agentWith("", "")), w.index, selectsD, delegation.BindingStale},
	} {
		s, err := UserOf(agentWith("account-1", tc.selected))
		if err != nil {
			t.Fatal(err)
		}
		got, refusal := tc.binding.narrowed(t.Context(), tc.index, s)
		if tc.want == "" && (refusal != nil || got.bound != tc.binding) || tc.want != "" && (refusal == nil || refusal.Reason != tc.want || got != nil) {
			t.Errorf("%s: %v, %v", name, got, refusal)
		}
	}
	// What no bound account may do it may not do under a narrower delegation either.
	w.want(t, agentWith("account-1", selectsD), "create", "pods", true)
	w.want(t, agentWith("account-1", selectsD), "create", "pods/exec", false)
	free := newAgents(t, "")
	free.want(t, agentWith("account-1", selectsD), "create", "pods/exec", true)
}
