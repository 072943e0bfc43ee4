// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// starting sends requests to a server while it starts.
type starting struct {
	c    *cluster.Cluster
	lock sync.Mutex
	// serving is the time of the first answer, synced that of the first at which the server had read all FieldPermissions, and
	// written that of the first write.
	serving, synced, written time.Time
	// unknown has the answers to writes that the server refused because it had not read the FieldPermissions.
	unknown []string
}

// poll asks for readiness as the administrator, and writes as a user, until the context ends.
func (s *starting) poll(ctx context.Context) {
	for ctx.Err() == nil {
		code, text, err := harness.Request(s.c, "", http.MethodGet, "/readyz?verbose", "", "")
		now := time.Now()
		if err != nil {
			continue
		}
		write, answer, err := harness.Request(s.c, "writer", http.MethodPatch, "/api/v1/namespaces/default/configmaps/started",
			harness.ContentTypes["merge"], fmt.Sprintf(`{"data":{"at":%q}}`, now))
		s.lock.Lock()
		if s.serving.IsZero() {
			s.serving = now
		}
		if s.synced.IsZero() && (code == http.StatusOK || strings.Contains(text, "[+]poststarthook/kube-granular/authority ok")) {
			s.synced = now
		}
		switch {
		case err == nil && write == http.StatusServiceUnavailable && strings.Contains(answer, "FieldPermissions"):
			s.unknown = append(s.unknown, answer)
		case err == nil && write == http.StatusOK && s.written.IsZero():
			s.written = time.Now()
		}
		s.lock.Unlock()
	}
}

// TestNormalStart holds that a server that starts with a thousand FieldPermissions refuses no write because it has not read them:
// writes wait. It logs how long the server serves before it has read them.
//
// Attack: each start of a server stops all writes for some seconds
// Answer: a write waits until the server has read the FieldPermissions, which takes less time than the start
func TestNormalStart(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args := []string{"--demo=false", "--feature-gates", "FieldPermissions=true", "--dir", dir, "--port", fmt.Sprint(port)}
	first := harness.Start(t, args...)
	same := &cluster.Cluster{Dir: dir, URL: first.URL}
	harness.Allow(t, harness.Administrator(t, same), "writer",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "patch"}})
	send(t, same, "", http.MethodPost, "/api/v1/namespaces/default/configmaps", "json", map[string]any{"metadata": map[string]any{"name": "started"}})
	for i := range many {
		send(t, same, "", http.MethodPost, fieldPermissions, "json",
			object(fmt.Sprintf("r%d.example.com", i), v1alpha1.ModeEnforce, "v1", excluded(".spec.a", "example.com/a")))
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	s := &starting{c: same}
	ctx, cancel := context.WithCancel(t.Context())
	var polling sync.WaitGroup
	polling.Go(func() { s.poll(ctx) })
	harness.Start(t, args...)
	harness.Until(t, "a write", func() bool {
		s.lock.Lock()
		defer s.lock.Unlock()
		return !s.written.IsZero() && !s.synced.IsZero()
	})
	cancel()
	polling.Wait()
	if len(s.unknown) > 0 {
		t.Errorf("%d writes were refused, the first with %s", len(s.unknown), s.unknown[0])
	}
	t.Logf("%d FieldPermissions read %v after the first answer, the first write %v after it", many, s.synced.Sub(s.serving), s.written.Sub(s.serving))
}
