// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/test/integration/harness/etcd"
)

// boundByPeer creates a service account, as kubectl granular lend does, and binds it to a delegation d of the namespace n.
func boundByPeer(t *testing.T, p peer) agent {
	t.Helper()
	create := func(path, body string) response {
		t.Helper()
		return p.want(t, request{as: "root", method: "POST", path: path, body: body}, 201)
	}
	create("/api/v1/namespaces", `{"metadata":{"name":"n"}}`)
	a := agent{namespace: "n", name: "agent"}
	a.uid = uidOf(t, create("/api/v1/namespaces/n/serviceaccounts", `{"metadata":{"name":"agent"}}`))
	uid := uidOf(t, create(delegations, delegation{to: a.delegate(), scope: "n", rules: configMaps}.body("d")))
	p.want(t, request{as: a.user(), method: "GET", path: maps("n")}, 403)
	p.want(t, a.annotating("root", bindingOf("d", uid)), 200)
	return a
}

// secretsOfPeers are what RBAC gives the account, and its delegation does not.
const secretsOfPeers = "/api/v1/namespaces/n/secrets"

// witnessed waits until a server allows another subject of the same binding what RBAC gives the account.
func (p peer) witnessed(t *testing.T) {
	t.Helper()
	p.eventually(t, request{as: "witness", method: "GET", path: secretsOfPeers}, func(r response) bool { return r.status == 200 })
}

// givenByRBAC grants the account a permission of its own, and waits until a server without the binding would allow it.
func givenByRBAC(t *testing.T, p peer, a agent) {
	t.Helper()
	const group = "rbac.authorization.k8s.io"
	subjects := fmt.Sprintf(`{"kind":"ServiceAccount","namespace":"n","name":%q},{"kind":"User","apiGroup":%q,"name":"witness"}`, a.name, group)
	for path, body := range map[string]string{
		"roles":        `{"metadata":{"name":"own"},"rules":[` + ownSecrets + `]}`,
		"rolebindings": fmt.Sprintf(`{"metadata":{"name":"own"},"roleRef":{"apiGroup":%q,"kind":"Role","name":"own"},"subjects":[%s]}`, group, subjects),
	} {
		p.want(t, request{as: "root", method: "POST", path: rbacPath + "namespaces/n/" + path, body: body}, 201)
	}
	p.witnessed(t)
}

// TestBoundPeers checks three servers on one etcd, of which one starts after the account was bound: a binding and its
// end on one are in effect on all, none lets the account use its own permissions, and a watch of the account ends on
// each within two seconds.
//
// Attack: a watch of a bound account continues on another server after its delegation was deleted
// Answer: it ends within two seconds on every server
//
// Attack: a bound account uses its own permissions on a server that has just started
// Answer: 403, from the first request
func TestBoundPeers(t *testing.T) {
	endpoint := etcd.Start(t)
	one, two := newPeer(t, endpoint, gates), newPeer(t, endpoint, gates)
	a := boundByPeer(t, one)
	list := request{as: a.user(), method: "GET", path: maps("n")}
	secrets := request{as: a.user(), method: "GET", path: secretsOfPeers}
	two.eventually(t, list, func(r response) bool { return r.status == 200 })
	givenByRBAC(t, two, a)
	late := newPeer(t, endpoint, gates)
	peers := []peer{one, two, late}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var watches []*bufio.Scanner
	for _, p := range peers {
		p.want(t, secrets, 403)
		p.witnessed(t)
		p.want(t, secrets, 403)
		p.eventually(t, list, func(r response) bool { return r.status == 200 })
		req, err := http.NewRequestWithContext(ctx, "GET", p.URL+maps("n")+"?watch=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Impersonate-User", a.user())
		resp, err := p.http.Do(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v, %+v", err, resp)
		}
		t.Cleanup(func() { resp.Body.Close() })
		watches = append(watches, bufio.NewScanner(resp.Body))
	}
	one.want(t, request{as: "root", method: "POST", path: maps("n"), body: `{"metadata":{"name":"first"}}`}, 201)
	for _, w := range watches {
		for w.Scan() && !strings.Contains(w.Text(), "first") {
		}
	}
	start := time.Now()
	one.want(t, request{as: "root", method: "DELETE", path: delegations + "/d"}, 200)
	for i, w := range watches {
		for w.Scan() {
			t.Errorf("server %d: watched %q after the deletion", i, w.Text())
		}
		took := time.Since(start)
		t.Logf("server %d: the watch ended after %s", i, took)
		if ctx.Err() != nil || took > endsAfter {
			t.Errorf("server %d: the watch ended after %s", i, took)
		}
		peers[i].eventually(t, list, func(r response) bool { return r.status == 403 })
		peers[i].want(t, secrets, 403)
	}
}

// TestBoundPeerWithoutGate shows what a bound account has on a server without the gate: what RBAC gives it. So lend makes
// an account that RBAC gives nothing. Such a server also frees the account, by any update without the annotation.
//
// Attack: the holder of a lent kubeconfig sends its requests to a server without the feature gate
// Answer: 403: RBAC gives the account nothing
func TestBoundPeerWithoutGate(t *testing.T) {
	endpoint := etcd.Start(t)
	with, without := newPeer(t, endpoint, gates), newPeer(t, endpoint, "GranularAuthorization=true")
	a := boundByPeer(t, with)
	list := request{as: a.user(), method: "GET", path: maps("n")}
	secrets := request{as: a.user(), method: "GET", path: secretsOfPeers}
	with.want(t, list, 200)
	without.want(t, list, 403)
	without.want(t, secrets, 403)
	// An account that RBAC gives something has it there, and nowhere else. The delegation says so.
	givenByRBAC(t, without, a)
	without.want(t, secrets, 200)
	with.witnessed(t)
	with.want(t, secrets, 403)
	d := request{as: "root", method: "GET", path: delegations + "/d"}
	with.eventually(t, d, func(r response) bool { return strings.Contains(r.body, "Ambient") })
	// Who updates the account there frees it. It does not get more than RBAC gives.
	plain := request{as: "root", method: "PUT", path: a.path(), body: fmt.Sprintf(`{"metadata":{"name":%q}}`, a.name)}
	if got := without.want(t, plain, 200).annotations(t)[selection.BindingAnnotation]; got != "" {
		t.Errorf("the server without the gate keeps the annotation %q", got)
	}
	with.eventually(t, list, func(r response) bool { return r.status == 403 })
	with.want(t, secrets, 200)
}
