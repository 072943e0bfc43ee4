// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

const gates = "GranularAuthorization=true,SelectedAuthority=true,AuthorityDelegation=true"

// peer is one of several servers on one etcd. Its client is the administrator, who impersonates
// the users.
type peer struct {
	*cluster.Cluster
	http *http.Client
}

func newPeer(t *testing.T, endpoint, gates string) peer {
	t.Helper()
	c := harness.Start(t, "--demo=false", "--etcd-servers", endpoint, "--feature-gates", gates)
	client, err := rest.HTTPClientFor(harness.Config(t, c, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	return peer{c, client}
}

// do sends a request to this server.
func (p peer) do(ctx context.Context, r request) (response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, p.URL+r.path, strings.NewReader(r.body))
	if err != nil {
		return response{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.as != "root" {
		req.Header.Set("Impersonate-User", r.as)
	}
	if r.under != "" {
		req.Header.Set(selection.Header, r.under)
	}
	return answer(p.http.Do(req))
}

func (p peer) want(t *testing.T, r request, status int) response {
	t.Helper()
	got, err := p.do(t.Context(), r)
	if err != nil || got.status != status {
		t.Fatalf("%s %s as %s: %v, %s, wanted %d", r.method, r.path, r.as, err, got, status)
	}
	return got
}

func (p peer) eventually(t *testing.T, r request, done func(response) bool) {
	t.Helper()
	harness.Until(t, fmt.Sprintf("%s %s as %s under %q", r.method, r.path, r.as, r.under), func() bool {
		got, err := p.do(t.Context(), r)
		return err == nil && done(got)
	})
}

// furnish creates namespaces in which alice may write ConfigMaps and read pods, and a policy
// for ConfigMaps.
func (p peer) furnish(t *testing.T, namespaces int) {
	t.Helper()
	create := func(path, body string) {
		t.Helper()
		p.want(t, request{as: "root", method: "POST", path: path, body: body}, 201)
	}
	for i := range namespaces {
		create("/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":"n%d"}}`, i))
	}
	create(rbacPath+"clusterroles", `{"metadata":{"name":"author"},"rules":[`+both+`]}`)
	create(rbacPath+"clusterrolebindings", `{"metadata":{"name":"author"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"author"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"alice"}]}`)
	body := strings.Replace(policy{rules: getPods}.body("p"), `"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":""}},`, "", 1)
	create(policies, body)
	p.eventually(t, request{as: "alice", method: "GET", path: maps("n0")}, func(r response) bool { return r.status == 200 })
}

const stampOfPeers = "configmaps" + selection.StampSuffix + "/p"

// TestPeers checks two servers on one etcd. A delegation that a policy makes on one server can
// be used on the other and is reused there. Both learn of policies and deletions from each
// other. Equal writes on both make just one delegation.
//
// Attack: continuing through another server after a delegation was deleted
// Answer: 403, once its watch has delivered the deletion
func TestPeers(t *testing.T) {
	endpoint := etcd.Start(t)
	a, b := newPeer(t, endpoint, gates), newPeer(t, endpoint, gates)
	a.furnish(t, 3)
	b.eventually(t, request{as: "alice", method: "POST", path: maps("n0") + "?dryRun=All", body: configMap("c", "x")}, func(r response) bool {
		return r.status == 201 && strings.Contains(r.body, stampOfPeers)
	})
	under := a.want(t, request{as: "alice", method: "POST", path: maps("n1"), body: configMap("c", "x")}, 201).annotations(t)[stampOfPeers]
	// This works at once: a server reads a delegation that it does not know yet from etcd.
	b.want(t, request{as: "bot", method: "GET", path: pods("n1"), under: under}, 200)
	if again := b.want(t, request{as: "alice", method: "POST", path: maps("n1"), body: configMap("d", "x")}, 201).annotations(t)[stampOfPeers]; again != under {
		t.Errorf("the other server stamped %q, wanted %q", again, under)
	}
	name, _, _ := strings.Cut(strings.SplitN(under, `"name":"`, 2)[1], `"`)
	start := time.Now()
	a.want(t, request{as: "root", method: "DELETE", path: delegations + "/" + name}, 200)
	a.want(t, request{as: "bot", method: "GET", path: pods("n1"), under: under}, 403)
	b.eventually(t, request{as: "bot", method: "GET", path: pods("n1"), under: under}, func(r response) bool { return r.status == 403 })
	t.Logf("the other server refused after %s at the latest", time.Since(start))

	// Now equal writes arrive at both servers at the same time.
	var all sync.WaitGroup
	stamps := make([]string, 16)
	for i := range stamps {
		all.Go(func() {
			got, err := []peer{a, b}[i%2].do(t.Context(), request{as: "alice", method: "POST", path: maps("n2"), body: configMap(fmt.Sprintf("c%d", i), "x")})
			if err != nil || got.status != 201 {
				t.Errorf("%v, %s", err, got)
				return
			}
			stamps[i] = got.annotations(t)[stampOfPeers]
		})
	}
	all.Wait()
	for _, stamp := range stamps {
		if stamp != stamps[0] || stamp == "" {
			t.Errorf("stamped %q and %q", stamp, stamps[0])
		}
	}
}

// TestForgedBeforePolicies checks that, as soon as any delegation exists, only the server
// writes stamps (annotations that name the delegation of an object's author). Otherwise a stamp
// that was forged before the first policy would be trusted later.
//
// Attack: a stamp that names another's delegation, written before the first policy
// Answer: the write is stored without it
func TestForgedBeforePolicies(t *testing.T) {
	a := newPeer(t, etcd.Start(t), gates)
	a.want(t, request{as: "root", method: "POST", path: "/api/v1/namespaces", body: `{"metadata":{"name":"n0"}}`}, 201)
	made := a.want(t, request{as: "root", method: "POST", path: delegations, body: delegation{scope: "n0", rules: configMaps}.body("victim")}, 201)
	var d v1alpha1.AuthorityDelegation
	if err := json.Unmarshal([]byte(made.body), &d); err != nil {
		t.Fatal(err)
	}
	forged := `{"authorityReference":{"kind":"AuthorityDelegation","name":"victim","uid":"` + string(d.UID) + `"}}`
	for method, path := range map[string]string{"POST": maps("n0"), "PUT": maps("n0") + "/there"} {
		name, status := "c", 201
		if method == "PUT" {
			name, status = "there", 200
			a.want(t, request{as: "root", method: "POST", path: maps("n0"), body: configMap(name, "x")}, 201)
		}
		got := a.want(t, request{as: "root", method: method, path: path, body: configMap(name, "x", stampOfPeers, forged)}, status)
		if is := got.annotations(t)[stampOfPeers]; is != "" {
			t.Errorf("%s: stamped %q", method, is)
		}
	}
}

// TestPeerWithoutGate shows what a server without the gate does: it refuses no write because of
// a policy, writes no stamp, and ignores selections. This is why all servers need the gate
// before the first policy is created.
func TestPeerWithoutGate(t *testing.T) {
	endpoint := etcd.Start(t)
	a, without := newPeer(t, endpoint, gates), newPeer(t, endpoint, "GranularAuthorization=true")
	a.furnish(t, 1)
	got := without.want(t, request{as: "alice", method: "POST", path: maps("n0"), body: configMap("c", "x")}, 201)
	if stamp := got.annotations(t)[stampOfPeers]; stamp != "" {
		t.Errorf("stamped %q", stamp)
	}
	under := a.want(t, request{as: "alice", method: "POST", path: maps("n0"), body: configMap("d", "x")}, 201).annotations(t)[stampOfPeers]
	// It ignores the header that it does not know, and does not repeat it in the response.
	// Without the selection, bot has no rights.
	if got := without.want(t, request{as: "bot", method: "GET", path: pods("n0"), under: under}, 403); got.header.Get(selection.Header) != "" {
		t.Errorf("repeats %q", got.header)
	}
	a.want(t, request{as: "bot", method: "GET", path: pods("n0"), under: under}, 200)
}

// TestCrash kills a server while it writes. No stored object may have a stamp whose delegation
// is missing, and another server must go on with the data in etcd.
func TestCrash(t *testing.T) {
	endpoint := etcd.Start(t)
	a := newPeer(t, endpoint, gates)
	const namespaces = 60
	a.furnish(t, namespaces)
	// Each namespace needs a delegation of its own, so each write makes one.
	enough := make(chan struct{})
	var all sync.WaitGroup
	for writer := range 4 {
		all.Go(func() {
			for i := writer; i < namespaces; i += 4 {
				if i == 20 {
					close(enough)
				}
				if _, err := a.do(context.Background(), request{as: "alice", method: "POST", path: maps(fmt.Sprintf("n%d", i)), body: configMap("c", "x")}); err != nil {
					return
				}
			}
		})
	}
	<-enough
	if err := a.Kill(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	b := newPeer(t, endpoint, gates)
	known := map[string]bool{}
	var list v1alpha1.AuthorityDelegationList
	if err := json.Unmarshal([]byte(b.want(t, request{as: "root", method: "GET", path: delegations}, 200).body), &list); err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Items {
		known[string(d.UID)] = true
	}
	objects := 0
	for i := range namespaces {
		got, err := b.do(t.Context(), request{as: "root", method: "GET", path: maps(fmt.Sprintf("n%d", i)) + "/c"})
		if err != nil || got.status != 200 {
			continue
		}
		objects++
		stamp, err := selection.Parse(got.annotations(t)[stampOfPeers])
		if err != nil || !known[string(stamp.AuthorityReference.UID)] {
			t.Errorf("n%d names %v, which is not there: %v", i, stamp, err)
		}
	}
	if objects < 15 || len(list.Items) < objects {
		t.Errorf("%d objects, %d delegations", objects, len(list.Items))
	}
	b.want(t, request{as: "alice", method: "PUT", path: maps("n0") + "/c", body: configMap("c", "y")}, 200)
}

// TestSwept checks that the server removes the delegations of policies that no object's stamp
// names, and no others. It removes only delegations of a certain age, so the test changes their
// creation time in etcd to an hour ago.
func TestSwept(t *testing.T) {
	t.Parallel()
	endpoint := etcd.Start(t)
	a := newPeer(t, endpoint, gates)
	a.furnish(t, 2)
	create := func(n string) request {
		return request{as: "alice", method: "POST", path: maps(n), body: configMap("c", "x")}
	}
	a.want(t, create("n0"), 201)
	// The deleted ConfigMap leaves its delegation behind, as a failed write would.
	a.want(t, create("n1"), 201)
	a.want(t, request{as: "root", method: "DELETE", path: maps("n1") + "/c"}, 200)
	store, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	all, err := store.Get(t.Context(), "/registry/kube-granular/authority/authoritydelegations/", clientv3.WithPrefix())
	if err != nil || len(all.Kvs) != 2 {
		t.Fatalf("%d delegations, %v", len(all.Kvs), err)
	}
	for _, kv := range all.Kvs {
		var d v1alpha1.AuthorityDelegation
		if err := json.Unmarshal(kv.Value, &d); err != nil {
			t.Fatal(err)
		}
		d.CreationTimestamp.Time = d.CreationTimestamp.Add(-time.Hour)
		text, err := json.Marshal(d)
		if err == nil {
			_, err = store.Put(t.Context(), string(kv.Key), string(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	list := request{as: "root", method: "GET", path: delegations}
	a.eventually(t, list, func(r response) bool { return strings.Count(r.body, `"kind":"User"`) == 1 })
	a.want(t, list, 200)
	if got := a.want(t, list, 200); !strings.Contains(got.body, `"namespace":"n0"`) {
		t.Errorf("what is left is %s", got)
	}
	// The next equal write makes the removed delegation again. A write that reuses the old
	// delegation renews it.
	a.want(t, create("n1"), 201)
	a.want(t, request{as: "alice", method: "POST", path: maps("n0"), body: configMap("d", "x")}, 201)
	if got := a.want(t, list, 200); strings.Count(got.body, `"renewed"`) != 1 {
		t.Errorf("%s", got)
	}
}

// TestIdle checks that idleSeconds ends a delegation that nobody uses, and does not end one
// that is used.
func TestIdle(t *testing.T) {
	t.Parallel()
	n, _ := stage(t, configMaps)
	idle := delegation{scope: n, rules: configMaps, more: `,"idleSeconds":60`}
	unused, used := idle.by(t, "alice", ""), idle.by(t, "alice", "")
	made := time.Now()
	use := request{as: "bot", method: "GET", path: maps(n), under: used}
	harness.Until(t, "a minute has passed", func() bool {
		use.want(t, 200)
		return time.Since(made) > 61*time.Second
	})
	request{as: "bot", method: "GET", path: maps(n), under: unused}.want(t, 403, "has expired because it was not used")
	use.want(t, 200)
	if last := read(t, used).Status.LastUsed; last == nil || last.Time.Before(made.Add(30*time.Second)) {
		t.Errorf("last used %v", last)
	}
}
