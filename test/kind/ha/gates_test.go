// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ha

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kube-granular.dev/test/kind/guarded"
)

// before is where a node keeps the manifest of its server that it had before the test.
const before = "/etc/kubernetes/before-gates.yaml"

// attempts sends all requests to guarded objects to all servers, again and again, as dry runs.
type attempts struct {
	// shut tells for each node that its server is ours, or none, so nothing may be allowed.
	shut    [3]atomic.Bool
	refused [3]atomic.Int64

	mu      sync.Mutex
	allowed []string
}

// attempt sends a request to a node's server, as a dry run, and returns the status of the answer, or 0 if there is none in
// three seconds.
func (s *set) attempt(ctx context.Context, node int, r guarded.Request) int {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return r.Send(ctx, s.direct[node].RESTClient(), namespace, 0, true)
}

// attempts starts to send the requests, until the test ends. All servers are shut.
func (s *set) attempts(t *testing.T) *attempts {
	a := &attempts{}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	for node := range s.nodes {
		a.shut[node].Store(true)
		all.Go(func() {
			for ctx.Err() == nil {
				for _, r := range guarded.Requests {
					shut := a.shut[node].Load()
					code := s.attempt(ctx, node, r)
					switch {
					case r.Want == http.StatusOK:
					case code == http.StatusForbidden:
						a.refused[node].Add(1)
					case code == http.StatusOK && shut && a.shut[node].Load():
						a.mu.Lock()
						a.allowed = append(a.allowed, s.nodes[node]+" allowed "+r.Name)
						a.mu.Unlock()
					}
				}
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	return a
}

// check fails the test if something was allowed while a server was shut, or if a server did not go on refusing.
func (a *attempts) check(t *testing.T, s *set, when string) {
	t.Helper()
	for node := range s.nodes {
		enough := a.refused[node].Load() + int64(len(guarded.Requests))
		s.until(t, s.nodes[node]+" refuses "+when, func(context.Context) bool { return a.refused[node].Load() > enough })
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.allowed) > 0 {
		t.Errorf("%s: %d requests were allowed, the first: %s", when, len(a.allowed), a.allowed[0])
	}
	a.allowed = nil
}

// answers waits until a node's server answers each request as it must: ours with every gate on, or upstream's, which
// allows all of them.
func (s *set) answers(t *testing.T, node int, ours bool) {
	t.Helper()
	for _, r := range guarded.Requests {
		code := http.StatusOK
		if ours {
			code = r.Want
		}
		s.until(t, fmt.Sprintf("%s answers %d to %s of %s", s.nodes[node], code, r.Name, r.User),
			func(ctx context.Context) bool { return s.attempt(ctx, node, r) == code })
	}
}

// gates sets the gates of a node's server, and waits until the server reports whether AuthorityDelegation is one of them.
func (s *set) gates(t *testing.T, node int, gates string) {
	t.Helper()
	s.edit(t, node, "kube-apiserver.yaml", "s/--feature-gates=.*/--feature-gates="+gates+"/")
	const last = `kubernetes_feature_enabled{name="AuthorityDelegation",stage="ALPHA"} 1`
	s.until(t, s.nodes[node]+" has the gates "+gates, func(ctx context.Context) bool {
		data, err := s.direct[node].RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		return err == nil && strings.Contains(string(data), last) == strings.Contains(gates, "AuthorityDelegation=true")
	})
	s.ready(t, node)
}

// TestEveryGate uses every gate on three servers under load. It turns the gates on, kills each server, replaces the
// servers by upstream's and puts them back, one after the other, as docs/upgrade.md says, and turns the gates off.
// No server of ours allows what is closed, from its first answer after a start, and no writer is refused.
func TestEveryGate(t *testing.T) {
	image, s, everyGate := unpatched(t), open(t), os.Getenv("KUBE_GRANULAR_EVERY_GATE")
	if everyGate == "" {
		t.Fatal("KUBE_GRANULAR_EVERY_GATE does not name the gates, which `make test-kind-ha` does")
	}
	s.all(t, true)
	l := start(t, s, 6, 3)
	objects, err := guarded.New(s.config, namespace)
	if err != nil {
		t.Fatal(err)
	}
	former := strings.TrimSpace(s.on(t, 0, "grep -o 'feature-gates=.*' "+manifest+" | cut -d = -f 2-"))
	for node := range s.nodes {
		s.on(t, node, "cp "+manifest+" "+before)
		t.Cleanup(func() { s.on(t, node, "[ ! -e "+before+" ] || mv "+before+" "+manifest) })
		s.gates(t, node, everyGate)
		l.progress(t, s, "after "+s.nodes[node]+" has every gate", everybody)
	}
	t.Cleanup(func() { _ = objects.Delete(context.WithoutCancel(t.Context())) })
	s.until(t, "the objects are made", func(ctx context.Context) bool {
		err := objects.Apply(ctx)
		if err != nil {
			t.Log(err)
		}
		return err == nil
	})
	for node := range s.nodes {
		s.answers(t, node, true)
	}
	a := s.attempts(t)
	a.check(t, s, "with three servers")

	for node := range s.nodes {
		s.on(t, node, "pkill -9 -x kube-apiserver")
		l.progress(t, s, "with one server gone", everybody)
		s.ready(t, node)
		a.check(t, s, "after "+s.nodes[node]+" was killed")
	}

	l.skewed(true)
	for node := range s.nodes {
		a.shut[node].Store(false)
		s.upstreams(t, node, image)
		s.answers(t, node, false)
		l.progress(t, s, "after "+s.nodes[node]+" was downgraded", ordinary)
	}
	for node := range s.nodes {
		s.ours(t, node)
		a.shut[node].Store(true)
		l.progress(t, s, "after "+s.nodes[node]+" was upgraded", ordinary)
	}
	l.skewed(false)
	l.progress(t, s, "with three servers of ours", everybody)
	a.check(t, s, "after three servers came back")
	for node := range s.nodes {
		s.answers(t, node, true)
		t.Logf("%s refused %d requests", s.nodes[node], a.refused[node].Load())
	}

	if err := objects.Delete(t.Context()); err != nil {
		t.Error(err)
	}
	for node := range s.nodes {
		a.shut[node].Store(false)
		s.gates(t, node, former)
		s.on(t, node, "rm "+before)
		l.progress(t, s, "after "+s.nodes[node]+" has its former gates", everybody)
	}
	l.check(t)
}
