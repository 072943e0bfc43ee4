// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/selection"
	ours "kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/delegation"
)

// TestBoundInformer checks that the bindings follow an informer: bound, bound elsewhere, released, deleted.
func TestBoundInformer(t *testing.T) {
	client := fake.NewClientset([]runtime.Object{account("scaler", "account-1", boundToD)}...)
	factory := informers.NewSharedInformerFactory(client, 0)
	b := NewBound()
	agent := agentWith("account-1", "")
	if b.of(agent) != notRead {
		t.Error("before it is connected, a Bound knows that an account is free")
	}
	informer := factory.Core().V1().ServiceAccounts().Informer()
	if err := b.Connect(informer); err != nil {
		t.Fatal(err)
	}
	if b.of(agent) != notRead {
		t.Error("before the accounts are read, a Bound knows that an account is free")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer factory.Shutdown()
	defer cancel()
	factory.Start(ctx.Done())
	until := func(what string, done func() bool) {
		t.Helper()
		for begin := time.Now(); !done(); time.Sleep(time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatal(what)
			}
		}
	}
	bindings := func() string {
		if found := b.of(agent); found != nil {
			return string(found.reference.UID)
		}
		return ""
	}
	until("bound", func() bool { return bindings() == "d" && b.Account("d") == agentName })
	accounts := client.CoreV1().ServiceAccounts("agents")
	if _, err := accounts.Update(ctx, account("scaler", "account-1", `{"name":"e","uid":"e"}`), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until("bound elsewhere", func() bool { return bindings() == "e" && b.Account("e") == agentName && b.Account("d") == "" })
	if _, err := accounts.Update(ctx, account("scaler", "account-1", ""), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until("released", func() bool { return bindings() == "" && b.Account("e") == "" && !b.active.Load() })
	// Though nothing was looked up meanwhile, the next binding counts.
	if _, err := accounts.Update(ctx, account("scaler", "account-1", boundToD), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until("bound again", func() bool { return bindings() == "d" && b.Account("d") == agentName })
	if err := accounts.Delete(ctx, "scaler", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until("deleted", func() bool { return b.of(agent) == stale && b.Account("d") == "" })
	if (*Bound)(nil).Account("d") != "" {
		t.Error("a server without delegations has bound accounts")
	}
	cancel()
	factory.Shutdown()
	if err := NewBound().Connect(informer); err == nil {
		t.Error("an informer that has ended is connected")
	}
}

// TestBoundObserve checks what the bindings make of unusual news.
func TestBoundObserve(t *testing.T) {
	b := boundTo("nonsense")
	if got := b.of(agentWith("account-1", "")); got == nil || got.problem == nil || b.Account(noDelegation) != "" {
		t.Errorf("%+v", got)
	}
	if b.of(agentWith("account-2", "")) != stale {
		t.Error("an unreadable annotation counts for another account of the name")
	}
	// A deletion that the informer learns of late.
	b.observe(cache.DeletedFinalStateUnknown{Key: "agents/scaler", Obj: account("scaler", "account-1", boundToD)}, true)
	if b.of(agentWith("account-1", "")) != stale {
		t.Error("the deleted account is free")
	}
	b.observe("something else", false)
	moment := time.Now()
	b.now = func() time.Time { return moment }
	b.deleted = map[string]time.Time{"edge": moment.Add(-deletedStays), "old": moment.Add(-deletedStays - 1)}
	b.observe(account("another", "account-3", ""), false)
	if _, ok := b.deleted["edge"]; !ok || len(b.deleted) != 1 {
		t.Errorf("%v", b.deleted)
	}
	// Two accounts with one delegation: the release of one does not hide the other.
	b = boundTo(boundToD)
	b.observe(account("second", "account-2", boundToD), false)
	b.observe(account("scaler", "account-1", ""), false)
	if got := b.Account("d"); got != "system:serviceaccount:agents:second" {
		t.Errorf("%q", got)
	}
}

// TestBoundRoleNamedLikeTheDelegation checks that a bound account can't select a role that has the name of its
// delegation: the role would be found where delegations are looked up.
//
// Attack: a bound account selects a ClusterRole that is named like its delegation, to use its own permissions
// Answer: 403
func TestBoundRoleNamedLikeTheDelegation(t *testing.T) {
	w := newAgents(t, boundToD)
	put(t, w.rbac.clusterRoles, clusterRole("d", on("get", "secrets")))
	put(t, w.rbac.clusterRoleBindings, clusterBinding("d", "d", named(agentName)))
	for _, text := range []string{`{"authorityReference":{"kind":"ClusterRole","name":"d"}}`, `{"authorityReference":{"kind":"Role","namespace":"n","name":"d"}}`} {
		w.want(t, agentWith("account-1", text), "get", "secrets", false)
		w.want(t, agentWith("account-1", text), "get", "pods", false)
		if code, _ := w.handle(t, agentWith("account-1", ""), http.Header{selection.Header: {text}}); code != http.StatusForbidden {
			t.Errorf("%s: status %d", text, code)
		}
		newAgents(t, "").want(t, agentWith("account-1", `{"authorityReference":{"kind":"ClusterRole","name":"own"}}`), "get", "secrets", true)
	}
}

// TestBoundNarrowedStaysBound checks that a bound account that selects a narrower delegation, or its own, is still
// refused what is refused to all bound accounts, and that one whose binding can't be used selects nothing.
//
// Attack: a bound account selects its own delegation by the header, to connect or to impersonate as an ordinary delegate
// Answer: 403
func TestBoundNarrowedStaysBound(t *testing.T) {
	w := newAgents(t, boundToD)
	for _, how := range []string{"", selectsD} {
		var header http.Header
		if how != "" {
			header = http.Header{selection.Header: {how}}
		}
		_, got := w.handle(t, agentWith("", ""), header)
		s, ok := got.(*User)
		if !ok || s.bound == nil || s.GetUID() != "account-1" || !strings.HasSuffix(s.auditText(), `,"via":"Binding"}`) {
			t.Fatalf("%q: %+v", how, got)
		}
		w.want(t, got, "create", "pods", true)
		w.want(t, got, "create", "pods/exec", false)
		w.want(t, agentWith("", how), "create", "pods/exec", false)
	}
	w.bound.observe(account("scaler", "account-1", "nonsense"), false)
	w.want(t, agentWith("account-1", selectsD), "get", "pods", false)
	if code, _ := w.handle(t, agentWith("account-1", ""), http.Header{selection.Header: {selectsD}}); code != http.StatusForbidden {
		t.Errorf("status %d", code)
	}
	auth := New(w.auth.Authorizer, nil, boundTo(boundToD))
	if d, _, _ := auth.Authorize(t.Context(), ask(agentWith("account-1", selectsD), "get", "n", "pods")); d == authorizer.DecisionAllow {
		t.Error("allowed without any delegations")
	}
	u := agentWith("account-1", "")
	if got := boundTo(boundToD).of(u).identity(u); got != u {
		t.Errorf("%+v", got)
	}
}

// TestBoundRefusalIsAudited checks that the audit event of a refused request of a bound account names the delegation, the
// person behind it, and the reason, whether the handler or the authorizer refused.
func TestBoundRefusalIsAudited(t *testing.T) {
	info := &request.RequestInfo{IsResourceRequest: true, Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "n", Name: "x"}
	for name, tc := range map[string]struct {
		header             http.Header
		annotation, reason string
	}{
		"by the handler, an upgrade":        {http.Header{"Connection": {"Upgrade"}}, boundToD, "Bound"},
		"by the handler, another selection": {http.Header{selection.Header: {selectsOther}}, boundToD, "OtherBinding"},
		"by the authorizer, a token":        {nil, boundToD, "Bound"},
		"by the authorizer, the annotation": {nil, "nonsense", "BindingStale"},
	} {
		w := newAgents(t, tc.annotation)
		ctx, annotation := audited(t)
		req := httptest.NewRequest(http.MethodPost, "/", nil)
		for key, values := range tc.header {
			req.Header[key] = values
		}
		ctx = request.WithRequestInfo(request.WithUser(ctx, agentWith("account-1", "")), info)
		Selection{Delegations: w.index, Bound: w.bound}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			u, _ := request.UserFrom(req.Context())
			d, _, _ := w.auth.Authorize(req.Context(), authorizer.AttributesRecord{User: u, ResourceRequest: true, Verb: info.Verb, Resource: info.Resource,
				Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name})
			if d == authorizer.DecisionAllow {
				t.Errorf("%s: allowed", name)
			}
		}), codecs).ServeHTTP(httptest.NewRecorder(), req.WithContext(ctx))
		if got := annotation(ours.RefusedAnnotation); got != tc.reason {
			t.Errorf("%s: refused %q", name, got)
		}
		if got := annotation(ours.SelectedAnnotation); !strings.Contains(got, `"via":"Binding"`) {
			t.Errorf("%s: selected %q", name, got)
		}
		if got := annotation(ours.ChainAnnotation); !strings.Contains(got, `"by":"alice"`) && tc.annotation == boundToD {
			t.Errorf("%s: chain %q", name, got)
		}
	}
	// A server without delegations has no chain.
	ctx, annotation := audited(t)
	err := Selection{}.refuseBound(ctx, boundTo(boundToD).of(agentWith("", "")), agentWith("", ""), &delegation.Refusal{Reason: delegation.Bound})
	if err == nil || annotation(ours.ChainAnnotation) != "" || annotation(ours.RefusedAnnotation) != "Bound" {
		t.Errorf("%v", err)
	}
}

// TestStreamsGoOn checks that a long-running request is not ended while its delegation is valid,
// and that it is ended afterwards.
func TestStreamsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAgents(t, boundToD)
		watch := request.WithRequestInfo(t.Context(), &request.RequestInfo{Verb: "watch"})
		sel := Selection{Delegations: w.index, Bound: w.bound}
		open := func(ctx context.Context, u *User, upgrades bool) context.Context {
			out, cancel := sel.untilRevoked(ctx, u, upgrades)
			t.Cleanup(cancel)
			return out
		}
		bound := w.bound.of(agentWith("account-1", "")).user(agentWith("account-1", ""))
		free, err := UserOf(agentWith("account-1", selectsD))
		if err != nil {
			t.Fatal(err)
		}
		get := request.WithRequestInfo(t.Context(), &request.RequestInfo{Verb: "get"})
		streams := map[string]context.Context{"bound": open(watch, bound, false), "selecting": open(watch, free, false),
			"an upgrade": open(get, free, true), "an upgrade of no known request": open(t.Context(), free, true)}
		if open(get, free, false) != get || open(t.Context(), free, false) != t.Context() {
			t.Error("a short request is watched")
		}
		time.Sleep(10 * recheckInterval)
		synctest.Wait()
		for name, ctx := range streams {
			if ctx.Err() != nil {
				t.Errorf("%s: ended under a valid delegation", name)
			}
		}
		w.index.Observe(delegated(), true)
		time.Sleep(2 * recheckInterval)
		synctest.Wait()
		for name, ctx := range streams {
			if ctx.Err() == nil {
				t.Errorf("%s: goes on after the delegation", name)
			}
		}
	})
}
