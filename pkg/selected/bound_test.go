// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
)

const (
	agentName    = "system:serviceaccount:agents:scaler"
	boundToD     = `{"name":"d","uid":"d"}`
	selectsD     = `{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`
	selectsChild = `{"authorityReference":{"kind":"AuthorityDelegation","name":"child"}}`
	selectsOther = `{"authorityReference":{"kind":"AuthorityDelegation","name":"other"}}`
)

// boundTo returns a Bound with one account, agents/scaler, whose annotation is given.
func boundTo(annotation string) *Bound {
	b := NewBound()
	synced := func() bool { return true }
	b.hasSynced.Store(&synced)
	b.observe(account("scaler", "account-1", annotation), false)
	return b
}

func account(name string, uid types.UID, annotation string) *corev1.ServiceAccount {
	out := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: name, UID: uid}}
	if annotation != "" {
		out.Annotations = map[string]string{selection.BindingAnnotation: annotation}
	}
	return out
}

// agents is a world in which alice may get pods and secrets in the namespace n, and delegated pods to
// agents/scaler, whose own RBAC permissions are secrets. The account may select the delegations child,
// under the first, and other.
type agents struct {
	index *delegation.Index
	bound *Bound
	rbac  *objects
	auth  *Authorizer
}

func newAgents(t testing.TB, annotation string) *agents {
	t.Helper()
	p := newPolicy()
	put(t, p.clusterRoles, clusterRole("all", on("*", "pods", "secrets", "pods/exec", "pods/proxy", "serviceaccounts/token", "users", "configmaps")), clusterRole("own", on("get", "secrets")))
	put(t, p.clusterRoleBindings, clusterBinding("own", "own", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "agents", Name: "scaler"}))
	put(t, p.roleBindings, binding("n", "all", "ClusterRole", "all", named("alice")))
	to := []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: "agents", Name: "scaler", UID: "account-1"}}
	d := delegated(on("*", "pods", "pods/exec", "pods/proxy", "serviceaccounts/token", "users"))
	d.Spec.Delegates = to
	x := delegation.NewIndex()
	x.Connect(delegation.Sources{Namespace: namespaceUID})
	if err := x.ReflectorStore().Replace(nil, "0"); err != nil {
		t.Fatal(err)
	}
	x.Observe(d, false)
	other := delegated(on("get", "configmaps"))
	other.Name, other.UID, other.Spec.Delegates = "other", "other", to
	child := delegated(on("get", "pods"))
	child.Name, child.UID, child.Spec.Delegates = "child", "child", to
	child.Status.Delegator = v1alpha1.DelegatorIdentity{Username: agentName, UID: "account-1"}
	child.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaDelegation, By: "alice", Name: "d", UID: "d"}}
	x.Observe(other, false)
	x.Observe(child, false)
	b := boundTo(annotation)
	return &agents{x, b, p, New(chained(t, p.rbac, p.rbac), x, b)}
}

func (w *agents) allowed(t testing.TB, u user.Info, verb, resource string) (bool, string) {
	t.Helper()
	q := ask(u, verb, "n", resource)
	q.Resource, q.Subresource, _ = strings.Cut(resource, "/")
	decision, reason, err := w.auth.Authorize(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if aware := w.auth.ConditionsAwareAuthorize(t.Context(), q); aware.IsAllow() != (decision == authorizer.DecisionAllow) {
		t.Errorf("%s %s: aware of conditions %v, wanted %v", verb, resource, aware, decision)
	}
	return decision == authorizer.DecisionAllow, reason
}

func (w *agents) want(t testing.TB, u user.Info, verb, resource string, want bool) {
	t.Helper()
	if got, reason := w.allowed(t, u, verb, resource); got != want {
		t.Errorf("%s %s as %s (UID %q): allowed %t, wanted %t: %s", verb, resource, u.GetName(), u.GetUID(), got, want, reason)
	}
}

// agentWith returns the bound account with a UID, and extra attributes if selected is not empty.
func agentWith(uid, selected string) *user.DefaultInfo {
	u := &user.DefaultInfo{Name: agentName, UID: uid, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:agents", "system:authenticated"}}
	if selected != "" {
		u.Extra = map[string][]string{selection.ExtraKey: {selected}}
	}
	return u
}

// TestBoundByName checks that the authorizer finds a binding by the name of the user alone: a kubelet's
// access review and CEL have only the name, impersonation and certificates have no UID.
//
// Attack: a bound account is asked about where no header is: in an access review, in CEL, by impersonation, with a certificate of its name
// Answer: the delegation decides, by the name of the account
func TestBoundByName(t *testing.T) {
	w := newAgents(t, boundToD)
	for _, u := range []user.Info{agentWith("account-1", ""), agentWith("", ""), &user.DefaultInfo{Name: agentName},
		&user.DefaultInfo{Name: agentName, Groups: []string{"system:masters"}}} {
		w.want(t, u, "get", "pods", true)
		w.want(t, u, "get", "secrets", false)
	}
	for _, u := range []user.Info{&user.DefaultInfo{Name: "alice"}, &user.DefaultInfo{Name: agentName + "x"}} {
		w.want(t, u, "get", "secrets", u.GetName() == "alice")
	}
	if resources, _, _, _ := w.auth.RulesFor(t.Context(), agentWith("", ""), "n"); len(resources) > 0 {
		t.Errorf("rules of the account itself: %+v", resources) // this package's RBAC has no delegations
	}
	w.bound.observe(account("scaler", "account-1", ""), false)
	w.want(t, agentWith("account-1", ""), "get", "secrets", true)
	w.want(t, agentWith("account-1", ""), "get", "pods", false)
}

// TestBoundWithoutDelegation checks that an account keeps nothing but discovery and reviews about itself
// when its delegation is missing, has expired, has another UID, or is not readable.
//
// Attack: the delegation of a bound account is deleted or expires, so that the account's own permissions return
// Answer: 403 for everything but discovery and self reviews
func TestBoundWithoutDelegation(t *testing.T) {
	changed := func(change func(*v1alpha1.AuthorityDelegation)) func(*agents) {
		return func(w *agents) {
			d := delegated(on("*", "pods"))
			d.ResourceVersion = "9"
			d.Spec.Delegates = []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: "agents", Name: "scaler", UID: "account-1"}}
			change(d)
			w.index.Observe(d, false)
		}
	}
	minute := int64(60)
	for name, tc := range map[string]struct {
		annotation, says string
		change           func(*agents)
	}{
		"deleted": {boundToD, "does not exist", func(w *agents) { w.index.Observe(delegated(), true) }},
		"expired": {boundToD, "expired", changed(func(d *v1alpha1.AuthorityDelegation) {
			d.Status.ExpirationTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		})},
		"idle": {boundToD, "was not used", changed(func(d *v1alpha1.AuthorityDelegation) {
			d.Spec.IdleSeconds, d.CreationTimestamp = &minute, metav1.NewTime(time.Now().Add(-2*time.Minute))
		})},
		"of another namespace": {boundToD, "was deleted", changed(func(d *v1alpha1.AuthorityDelegation) { d.Status.NamespaceUID = "older" })},
		"replaced by one of the same name": {boundToD, "does not exist", func(w *agents) {
			w.index.Observe(delegated(), true)
			changed(func(d *v1alpha1.AuthorityDelegation) { d.UID = "e" })(w)
		}},
		"to others":   {boundToD, "does not exist", changed(func(d *v1alpha1.AuthorityDelegation) { d.Spec.Delegates = d.Spec.Delegates[:0] })},
		"another UID": {`{"name":"d","uid":"e"}`, "does not exist", nil},
		"unknown":     {`{"name":"none","uid":"none"}`, "does not exist", nil},
		"not JSON":    {`d`, "is not valid", nil},
		"no delegate": {boundToD, "does not exist", func(w *agents) {
			w.bound.observe(account("scaler", "account-2", boundToD), false)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgents(t, tc.annotation)
			if tc.change != nil {
				tc.change(w)
			}
			u := agentWith("", "")
			for _, resource := range []string{"pods", "secrets", "configmaps"} {
				if got, reason := w.allowed(t, u, "get", resource); got || !strings.Contains(reason, tc.says) {
					t.Errorf("%s: allowed %t: %s", resource, got, reason)
				}
			}
			put(t, w.rbac.clusterRoles, clusterRole("discovery", rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/api"}}))
			put(t, w.rbac.clusterRoleBindings, clusterBinding("discovery", "discovery", group("system:authenticated")))
			if got, reason, err := w.auth.Authorize(t.Context(), &authorizer.AttributesRecord{User: u, Verb: "get", Path: "/api"}); got != authorizer.DecisionAllow || err != nil {
				t.Errorf("discovery: %v, %s, error %v", got, reason, err)
			}
		})
	}
}

// TestBoundUse checks that a request of a bound account counts as use of its delegation, and that a refused one does not.
func TestBoundUse(t *testing.T) {
	for resource, want := range map[string]bool{"pods": true, "secrets": false} {
		w, minute := newAgents(t, boundToD), int64(60)
		d := delegated(on("*", "pods"))
		d.ResourceVersion, d.Spec.IdleSeconds, d.CreationTimestamp = "9", &minute, metav1.NewTime(time.Now().Add(-30*time.Second))
		d.Spec.Delegates = []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: "agents", Name: "scaler", UID: "account-1"}}
		w.index.Observe(d, false)
		handler := Selection{Delegations: w.index, Bound: w.bound}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			u, _ := request.UserFrom(req.Context())
			got, reason, err := w.auth.Authorize(req.Context(), ask(u, "get", "n", resource))
			if (got == authorizer.DecisionAllow) != want || err != nil {
				t.Errorf("%s: %v, %s, error %v", resource, got, reason, err)
			}
		}), codecs)
		info := &request.RequestInfo{IsResourceRequest: true, Verb: "get", Resource: resource, Namespace: "n"}
		ctx := request.WithRequestInfo(request.WithUser(t.Context(), agentWith("account-1", "")), info)
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
		if used := len(w.index.UnwrittenUses()) > 0; used != want {
			t.Errorf("%s: used: %t", resource, used)
		}
	}
}

// TestBoundStale checks that a token of an account that was deleted or replaced gets nothing, also when
// the present account of the name is not bound. Authentication accepts such a token for some seconds.
//
// Attack: using the token of a bound account after the account was deleted, when its annotation is gone
// Answer: 403 while authentication still accepts the token
func TestBoundStale(t *testing.T) {
	old := agentWith("account-1", "")
	for name, change := range map[string]func(*Bound){
		"deleted":           func(b *Bound) { b.observe(account("scaler", "account-1", boundToD), true) },
		"replaced, bound":   func(b *Bound) { b.observe(account("scaler", "account-2", boundToD), false) },
		"replaced, unbound": func(b *Bound) { b.observe(account("scaler", "account-2", ""), false) },
		"deleted, unbound 2": func(b *Bound) {
			b.observe(account("scaler", "account-1", boundToD), true)
			b.observe(account("scaler", "account-2", ""), false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgents(t, boundToD)
			w.want(t, old, "get", "pods", true)
			change(w.bound)
			w.want(t, old, "get", "pods", false)
			w.want(t, old, "get", "secrets", false)
		})
	}
	w := newAgents(t, boundToD)
	w.bound.observe(account("scaler", "account-1", boundToD), true)
	w.want(t, agentWith("", ""), "get", "secrets", true) // the name without an account is RBAC's, as upstream
	w.bound.now = func() time.Time { return time.Now().Add(deletedStays + time.Second) }
	w.bound.observe(account("another", "account-3", ""), false)
	if len(w.bound.deleted) != 0 {
		t.Errorf("%v is not forgotten", w.bound.deleted)
	}
}

// TestBoundNotRead checks that no service account is allowed anything before the server has read which
// accounts are bound. Other users are not affected.
//
// Attack: a bound account sends a request while a restarted server has not read the accounts
// Answer: 503; users who are no service accounts are not affected
func TestBoundNotRead(t *testing.T) {
	w := newAgents(t, boundToD)
	synced := func() bool { return false }
	w.bound.hasSynced.Store(&synced)
	w.want(t, agentWith("account-1", ""), "get", "pods", false)
	w.want(t, agentWith("account-1", ""), "get", "secrets", false)
	w.want(t, &user.DefaultInfo{Name: "alice"}, "get", "secrets", true)
	code, _ := w.handle(t, agentWith("account-1", ""), nil)
	if code != http.StatusServiceUnavailable {
		t.Errorf("status %d", code)
	}
	w.bound.hasSynced.Store(nil)
	w.want(t, agentWith("account-1", ""), "get", "secrets", false)
}

// TestBoundSelectsNarrower checks which authority a bound account can select: its delegation, and one that
// was created under it.
//
// Attack: a bound account selects another delegation, or a role of its own
// Answer: 403, never ignored
func TestBoundSelectsNarrower(t *testing.T) {
	const role = `{"authorityReference":{"kind":"ClusterRole","name":"own"}}`
	for _, tc := range []struct {
		selected, verb, resource string
		want                     bool
	}{
		{selectsD, "list", "pods", true}, {selectsChild, "get", "pods", true}, {selectsChild, "list", "pods", false},
		{selectsOther, "get", "configmaps", false}, {selectsOther, "get", "pods", false}, {role, "get", "secrets", false}, {"{", "get", "pods", false},
	} {
		w := newAgents(t, boundToD)
		w.want(t, agentWith("account-1", tc.selected), tc.verb, tc.resource, tc.want)
		w.want(t, agentWith("", tc.selected), tc.verb, tc.resource, tc.want)
		code, got := w.handle(t, agentWith("account-1", ""), http.Header{selection.Header: {tc.selected}})
		refused := tc.selected == selectsOther || tc.selected == role
		if refused != (code == http.StatusForbidden) || tc.selected == "{" && code != http.StatusBadRequest {
			t.Errorf("%s: status %d", tc.selected, code)
		}
		if got != nil {
			w.want(t, got, tc.verb, tc.resource, tc.want)
		}
		free := newAgents(t, "")
		free.want(t, agentWith("account-1", selectsOther), "get", "configmaps", true)
	}
}

// TestBoundHandsNothingOver checks that a bound account gets no second identity and no connection, though
// the delegation allows them.
//
// Attack: a bound account impersonates somebody, gets a token, or opens a connection to a pod
// Answer: 403
func TestBoundHandsNothingOver(t *testing.T) {
	w := newAgents(t, boundToD)
	d := delegated(on("*", "*"))
	d.Spec.Delegates, d.ResourceVersion = []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: agentName}}, "7"
	w.index.Observe(d, false)
	put(t, w.rbac.clusterRoles, clusterRole("all", on("*", "*")))
	u := agentWith("account-1", "")
	w.want(t, u, "create", "pods", true)
	for _, q := range [][2]string{{"impersonate", "users"}, {"impersonate:user-info", "users"}, {"impersonate-on:user-info:get", "pods"}, {"create", "serviceaccounts/token"},
		{"create", "pods/exec"}, {"get", "pods/exec"}, {"create", "pods/attach"}, {"create", "pods/portforward"}, {"get", "pods/proxy"}, {"get", "services/proxy"}, {"get", "nodes/proxy"}} {
		w.want(t, u, q[0], q[1], false)
	}
	for header, want := range map[string]int{"Impersonate-User": http.StatusForbidden, "X-Other": 0} {
		req := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
		req.Header.Set(header, "alice")
		rec, passed := httptest.NewRecorder(), false
		Selection{Delegations: w.index, Bound: w.bound}.BeforeImpersonation(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true }), codecs).
			ServeHTTP(rec, req.WithContext(request.WithUser(req.Context(), u)))
		if passed != (want == 0) || !passed && rec.Code != want {
			t.Errorf("%s: passed %t, status %d", header, passed, rec.Code)
		}
	}
	if code, _ := w.handle(t, u, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}); code != http.StatusForbidden {
		t.Errorf("an upgrade: status %d", code)
	}
}

// TestBoundDelegator checks that an account that is bound has no permissions of its own to give: what it
// delegated before it was bound allows nothing.
//
// Attack: an account delegates its own permissions to another account, and is then bound
// Answer: 403 under the older delegation
func TestBoundDelegator(t *testing.T) {
	for annotation, want := range map[string]bool{"": true, boundToD: false} {
		w := newAgents(t, annotation)
		d := delegated(on("get", "secrets"))
		d.Name, d.UID, d.Status.Delegator = "older", "older", v1alpha1.DelegatorIdentity{Username: agentName}
		w.index.Observe(d, false)
		bot := &user.DefaultInfo{Name: "bot", Extra: map[string][]string{selection.ExtraKey: {`{"authorityReference":{"kind":"AuthorityDelegation","name":"older"}}`}}}
		w.want(t, bot, "get", "secrets", want)
		rules := 0
		Selection{Delegations: w.index, Bound: w.bound}.Visit(t.Context(), w.rbac.policy(), bot, "n", func(_ fmt.Stringer, r *rbacv1.PolicyRule, _ error) bool {
			rules++
			return true
		})
		if (rules > 0) != want {
			t.Errorf("bound %t: %d rules for escalation checks", !want, rules)
		}
	}
}

// handle sends a request of u through the handler. It returns the status if the handler answered, and the
// user whom the next handler gets otherwise.
func (w *agents) handle(t *testing.T, u user.Info, header http.Header) (code int, next user.Info) {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/n/pods", nil)
	for name, values := range header {
		req.Header[name] = values
	}
	ctx := request.WithRequestInfo(request.WithUser(req.Context(), u), &request.RequestInfo{IsResourceRequest: true, Verb: "list", Resource: "pods", Namespace: "n"})
	rec := httptest.NewRecorder()
	Selection{Delegations: w.index, Bound: w.bound}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		next, _ = request.UserFrom(req.Context())
	}), codecs).ServeHTTP(rec, req.WithContext(ctx))
	if next != nil {
		return 0, next
	}
	return rec.Code, nil
}

// TestBoundRequest checks which user a request of a bound account has after the handler.
func TestBoundRequest(t *testing.T) {
	w := newAgents(t, boundToD)
	_, got := w.handle(t, agentWith("", ""), nil)
	s, ok := got.(*User)
	if !ok || s.GetUID() != "account-1" || s.GetExtra()[selection.ExtraKey][0] != `{"authorityReference":{"kind":"AuthorityDelegation","name":"d","uid":"d"}}` ||
		s.auditText() != `{"authorityReference":{"kind":"AuthorityDelegation","name":"d","uid":"d"},"via":"Binding"}` {
		t.Errorf("%+v", got)
	}
	w.want(t, got, "get", "pods", true)
	w.want(t, got, "get", "secrets", false)
	free := newAgents(t, "")
	if _, got := free.handle(t, agentWith("account-1", ""), nil); Selects(got) {
		t.Errorf("%+v", got)
	}
}

// TestBoundWatch checks that a running request ends when the account gets another binding or none.
func TestBoundWatch(t *testing.T) {
	w := newAgents(t, boundToD)
	_, got := w.handle(t, agentWith("account-1", ""), nil)
	sel := Selection{Delegations: w.index, Bound: w.bound}
	ctx, cancel := sel.untilRevoked(request.WithRequestInfo(t.Context(), &request.RequestInfo{Verb: "watch"}), got.(*User), false)
	defer cancel()
	w.bound.observe(account("scaler", "account-1", `{"name":"child","uid":"child"}`), false)
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("the request goes on")
	}
}

// TestBoundCost checks that nothing is allocated for a request while no account is bound, nor for an
// account that is not bound while another one is, and that a binding costs no more than a selection.
func TestBoundCost(t *testing.T) {
	allocations := func(w *agents, u user.Info, header http.Header) float64 {
		req := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/n/pods", nil)
		for name, values := range header {
			req.Header[name] = values
		}
		info := &request.RequestInfo{IsResourceRequest: true, Verb: "get", Resource: "pods", Namespace: "n"}
		var decided authorizer.Decision
		handler := Selection{Delegations: w.index, Bound: w.bound}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			u, _ := request.UserFrom(req.Context())
			decided, _, _ = w.auth.Authorize(req.Context(), ask(u, "get", "n", "pods"))
		}), codecs)
		ctx := request.WithRequestInfo(request.WithUser(context.Background(), u), info)
		rec := httptest.NewRecorder()
		n := testing.AllocsPerRun(200, func() {
			req := req.WithContext(ctx)
			if header != nil {
				req.Header[selection.Header] = header[selection.Header]
			}
			handler.ServeHTTP(rec, req)
		})
		if header != nil && decided != authorizer.DecisionAllow {
			t.Fatal("not allowed")
		}
		return n
	}
	bound, free := newAgents(t, boundToD), newAgents(t, "")
	agent := agentWith("account-1", "")
	under, chosen := allocations(bound, agent, nil), allocations(free, agent, http.Header{selection.Header: {selectsD}})
	t.Logf("%v allocations with a binding, %v with a selection", under, chosen)
	if under > chosen {
		t.Errorf("%v allocations with a binding, %v with a selection", under, chosen)
	}
	neighbour := &user.DefaultInfo{Name: "system:serviceaccount:agents:neighbour", UID: "u"}
	for name, b := range map[string]*Bound{"no gate": nil, "nothing bound": free.bound, "another bound": bound.bound} {
		if n := testing.AllocsPerRun(100, func() {
			if b.of(neighbour) != nil {
				t.Fatal("bound")
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if free.bound.active.Load() {
		t.Error("with no bound account, every request looks one up")
	}
}
