// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

var (
	rounds = flag.Int("rounds", 3, "the number of `rounds`, each with one fault")
	seed   = flag.Uint64("seed", 1, "the `number` that chooses servers and times")
)

const (
	servers = 3
	gates   = "GranularAuthorization=true,ProtectedAttributes=true,SelectedAuthority=true,AuthorityDelegation=true,FieldPermissions=true"
	// calm is the time before a fault, and faulty is the time that it lasts.
	calm, faulty = time.Second, 2 * time.Second
)

// world is three servers, each with its own link to one etcd.
type world struct {
	links     [servers]*link
	endpoints [servers]string
	slots     [servers]atomic.Pointer[server]
	switches  []*toggle
	number    atomic.Int64
}

// start starts a server in a slot.
func (w *world) start(t *testing.T, slot, generation int) {
	t.Helper()
	c := harness.Start(t, "--demo=false", "--etcd-servers", w.endpoints[slot], "--feature-gates", gates)
	w.slots[slot].Store(&server{name: fmt.Sprintf("server %d.%d", slot, generation), slot: slot, started: time.Now(), cluster: c,
		client: harness.Connect(t, c, "admin")})
}

// furnish creates what the attempts need.
func (w *world) furnish(t *testing.T) {
	t.Helper()
	c := w.slots[0].Load().cluster
	administrator := harness.Administrator(t, c)
	create := func(path, body string) { harness.Create(t, administrator, path, body) }
	create("/api/v1/namespaces", `{"metadata":{"name":"history"}}`)
	create(namespace+"/serviceaccounts", `{"metadata":{"name":"agent"}}`)
	for slot := range servers {
		for _, name := range []string{"attribute", "delegation", "binding"} {
			create(namespace+"/configmaps", fmt.Sprintf(`{"metadata":{"name":"%s-%d"}}`, name, slot))
		}
		create(namespace+"/services", fmt.Sprintf(`{"metadata":{"name":"field-%d"},"spec":{"ports":[{"port":80}]}}`, slot))
	}
	writing := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps", "services"}, Verbs: []string{"get", "patch"}}
	harness.Allow(t, administrator, "editor", writing)
	harness.Allow(t, administrator, account, writing)
	uid := func(path string) string {
		a, err := w.slots[0].Load().client.Do(t.Context(), harness.Call{Method: http.MethodGet, Path: path})
		var object struct{ Metadata struct{ UID string } }
		if err != nil || json.Unmarshal(a.Body, &object) != nil || object.Metadata.UID == "" {
			t.Fatalf("%s: %v %s", path, err, a)
		}
		return object.Metadata.UID
	}
	create(authority+"authoritydelegations", fmt.Sprintf(`{"metadata":{"name":"bound"},"spec":{
		"delegates":[{"kind":"ServiceAccount","namespace":"history","name":"agent","uid":%q}],
		"scope":{"namespace":"history"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}}`, uid(namespace+"/serviceaccounts/agent")))
	w.switches = toggles(uid(authority + "authoritydelegations/bound"))
}

// attempts makes attempts on each server until the context ends.
func (w *world) attempts(ctx context.Context, all *sync.WaitGroup) {
	for _, s := range w.switches {
		for slot := range servers {
			all.Go(func() {
				tick := time.NewTicker(50 * time.Millisecond)
				defer tick.Stop()
				for {
					select {
					case <-ctx.Done():
						return
					case <-tick.C:
						if server := w.slots[slot].Load(); server != nil {
							s.try(ctx, server, int(w.number.Add(1)))
						}
					}
				}
			})
		}
	}
}

// turns turns a switch until the context ends. Most turns follow each other at once, some after a while.
func (w *world) turns(t *testing.T, ctx context.Context, s *toggle, random *rand.Rand) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		for range 1 + random.IntN(4) {
			slot := random.IntN(servers)
			server := w.slots[slot].Load()
			active, call := !s.record.last(), time.Now()
			if server == nil || s.write(t.Context(), server, active) {
				continue
			}
			harness.Until(t, s.name+": what is stored is known", func() bool {
				server := w.slots[slot].Load()
				return server != nil && s.find(t.Context(), server, active, call)
			})
		}
		<-tick.C
	}
}

// settle waits until all servers have caught up.
func (w *world) settle(t *testing.T) {
	t.Helper()
	for _, s := range w.switches {
		for slot := range servers {
			harness.Until(t, fmt.Sprintf("%s: server %d has caught up", s.name, slot), func() bool {
				server := w.slots[slot].Load()
				if !s.try(t.Context(), server, int(w.number.Add(1))) {
					return false
				}
				active, known := s.record.seen(server)
				return known && active == s.record.last()
			})
		}
		s.record.settle(time.Now())
	}
}

// fault breaks something for a while.
func (w *world) fault(t *testing.T, round int, random *rand.Rand) {
	slot := random.IntN(servers)
	<-time.After(calm)
	switch l := w.links[slot]; round % 3 {
	case 0:
		t.Logf("round %d: no connection between server %d and etcd", round, slot)
		l.sever()
		<-time.After(faulty)
		l.heal()
	case 1:
		t.Logf("round %d: nothing passes between server %d and etcd", round, slot)
		l.hold()
		<-time.After(faulty)
		l.heal()
	case 2:
		t.Logf("round %d: server %d is killed", round, slot)
		killed := w.slots[slot].Swap(nil)
		if err := killed.cluster.Kill(); err != nil {
			t.Error(err)
		}
		w.start(t, slot, round+1)
	}
}

// TestHistories holds the rule of the package for three servers of which one is cut off, held up or killed in each round.
//
// Attack: going on after a right was taken away, through a server that was cut off from etcd, was killed, or comes back
// Answer: 403 for ever, from the first time that the server knows it; at once on the server that took it away
func TestHistories(t *testing.T) {
	w, random := &world{}, rand.New(rand.NewPCG(*seed, 0))
	endpoint := etcd.Start(t)
	for slot := range servers {
		w.links[slot], w.endpoints[slot] = newLink(t, endpoint)
		w.start(t, slot, 0)
	}
	w.furnish(t)
	w.settle(t)
	ctx, end := context.WithCancel(t.Context())
	var attempting sync.WaitGroup
	w.attempts(ctx, &attempting)
	for round := range *rounds {
		ctx, end := context.WithCancel(t.Context())
		var turning sync.WaitGroup
		for _, s := range w.switches {
			random := rand.New(rand.NewPCG(*seed, random.Uint64()))
			turning.Go(func() { w.turns(t, ctx, s, random) })
		}
		w.fault(t, round, random)
		end()
		turning.Wait()
		w.settle(t)
	}
	end()
	attempting.Wait()
	for _, s := range w.switches {
		t.Logf("%s: %d turns, %d attempts on %d servers", s.name, len(s.record.turns), len(s.record.attempts), len(s.record.servers()))
		if len(s.record.turns) < *rounds || len(s.record.servers()) < servers {
			t.Errorf("%s: the history is too short", s.name)
		}
		for _, err := range s.record.check() {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}
