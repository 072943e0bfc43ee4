// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"kube-granular.dev/pkg/examplewebhook"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// TestReload loads configurations while granular requests are under way. A user that every
// configuration allows is always allowed, and one that every configuration denies is always
// denied. If a new configuration denies a permission, a request that is under way is refused as
// well.
func TestReload(t *testing.T) {
	asked := &asking{}
	for _, user := range []string{"reload", "reload-denied", "reload-late"} {
		allow(t, user, "", []string{"configmaps"}, own...)
	}
	const policy = "deny:\n- {users: [reload-denied], reason: not you}\n"
	one, two := newHook(t, asked, "one", policy), newHook(t, asked, "two", policy)
	a := chained(one.in(settings{match: []string{aboutObjects}}), node, rbac)
	b := chained(node, two.in(settings{match: []string{aboutObjects}}), rbac)
	load(t, a, "success")
	t.Cleanup(func() { load(t, chained(nodeAndRBAC...), "success") })

	t.Run("under traffic", func(t *testing.T) {
		stop := make(chan struct{})
		var senders sync.WaitGroup
		for _, who := range []struct {
			user string
			want int
		}{{"reload", 200}, {"reload-denied", 403}, {"reload", 200}} {
			path := made(t, "default")
			senders.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						if n < 10 {
							t.Errorf("%s sent %d requests only", who.user, n)
						}
						return
					default:
					}
					code, body, err := harness.Request(on, who.user, http.MethodPatch, path, harness.ContentTypes["merge"], label(n))
					if err != nil || code != who.want {
						t.Errorf("%s: %d %s %v, wanted %d", who.user, code, body, err, who.want)
						return
					}
				}
			})
		}
		for range 3 {
			load(t, b, "success")
			load(t, a, "success")
		}
		close(stop)
		senders.Wait()
	})

	t.Run("in the middle of a request", func(t *testing.T) {
		path := made(t, "default")
		there, on := make(chan struct{}), make(chan struct{})
		var once sync.Once
		one.pause = func(answered examplewebhook.Record) {
			if r := answered.Review.ResourceAttributes; answered.Review.User == "reload-late" && r != nil && r.Verb == "granular:metadata" {
				once.Do(func() { close(there); <-on })
			}
		}
		answer := make(chan harness.Answer, 1)
		go func() { answer <- send(t, "reload-late", http.MethodPatch, path, "merge", label("late")) }()
		<-there
		replace(t, two.policy, policy+"- {users: [reload-late], verbs: [\"granular:label(own.example.com)\"], reason: no longer}")
		load(t, b, "success")
		close(on)
		expect(t, <-answer, 403, "cannot change .metadata.labels[own.example.com/l]")
		replace(t, two.policy, policy)
		expect(t, send(t, "reload-late", http.MethodPatch, path, "merge", label("late")), 200, "")
	})
}

// TestReloadBad checks that the server keeps the last good configuration if a new one is
// invalid, and that the metrics and the log report it.
func TestReloadBad(t *testing.T) {
	asked := &asking{}
	for _, user := range []string{"bad", "bad-denied"} {
		allow(t, user, "", []string{"configmaps"}, own...)
	}
	h := newHook(t, asked, "good", `deny: [{users: [bad-denied], reason: still denied}]`)
	good := h.in(settings{match: []string{aboutObjects}})
	use(t, good, node, rbac)
	path := made(t, "default")
	for _, tc := range []struct{ name, config, logs string }{
		{"no YAML", "authorizers: [", "FILE: failed to load AuthorizationConfiguration from file: "},
		{"an unknown type",
			chained(good, node, rbac, "- {type: Magic, name: magic}\n"),
			`FILE: authorizers[3].type: Unsupported value: \"Magic\"`},
		{"without RBAC", chained(good, node), "FILE: missing required types: [RBAC]"},
		{"with ABAC, which the server was not started with",
			chained(good, node, rbac, "- {type: ABAC, name: abac}\n"),
			"authorizer type ABAC is not allowed if it was not enabled at initial server startup"},
		{"CEL that does not compile",
			chained(h.in(settings{match: []string{"request.verb == 'x'"}}), node, rbac),
			`FILE: authorizers[0].matchConditions[0].expression: Invalid value: `},
		{"a connection inside the cluster",
			chained(inCluster(good), node, rbac),
			"FILE: authorizers[0].connectionInfo.type: Unsupported value: "},
		{"CEL that costs too much",
			chained(node, rbac, h.in(settings{match: []string{aboutObjects, expensive}})),
			`FILE: authorizers[2].matchConditions[1].expression: Invalid value: `},
		{"a kubeconfig that is no longer there",
			chained(strings.Replace(good, h.kubeconfig, "/no/such/kubeconfig", 1), node, rbac),
			`FILE: authorizers[0].connectionInfo.kubeConfigFile: Invalid value: \"/no/such/kubeconfig\"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			load(t, tc.config, "failure")
			what := strings.Replace(tc.logs, "FILE", "--authorization-config "+configuration, 1)
			if !logged(t, on.Dir, what) {
				t.Errorf("the log does not say %s", what)
			}
			now := scrape(t, on)
			const last = "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds"
			if failed, succeeded := now[last+`{status="failure"}`], now[last+`{status="success"}`]; failed <= succeeded {
				t.Errorf("the last failure was at %v, the last success at %v", failed, succeeded)
			}
			expect(t, send(t, "bad-denied", http.MethodPatch, path, "merge", label(tc.name[:1])), 403, "still denied")
			expect(t, send(t, "bad", http.MethodPatch, path, "merge", label(tc.name[:1])), 200, "")
		})
	}
}

// TestSkew checks two servers with different configurations: each decides by its own, and a
// metric shows that they differ.
func TestSkew(t *testing.T) {
	etcd := "unix://" + socket(t, on.Dir)
	asked := &asking{}
	allow(t, "skew", "", []string{"configmaps"}, own...)
	h := newHook(t, asked, "skewed", `deny: [{users: [skew], reason: denied by one}]`)
	other := filepath.Join(t.TempDir(), "authorization.yaml")
	replace(t, other, chained(h.in(settings{match: []string{aboutObjects}}), node, rbac))
	second := harness.Start(t, "--etcd-servers", etcd, "--demo=false", "--authorization-config", other)
	path := made(t, "default")
	hashes := func() sets.Set[string] {
		return sets.New(hash(t, on), hash(t, second))
	}
	// The second server's informers may not know the role yet, but the Deny does not depend on
	// it.
	expect(t, sendTo(t, second, "skew", http.MethodPatch, path, "merge", label(1)), 403, "denied by one")
	expect(t, sendTo(t, on, "skew", http.MethodPatch, path, "merge", label(1)), 200, "")
	if got := hashes(); len(got) != 2 || got.Has("") {
		t.Errorf("configurations that differ have the hashes %v", sets.List(got))
	}
	replace(t, other, chained(nodeAndRBAC...))
	harness.Until(t, "equal hashes", func() bool { return len(hashes()) == 1 })
	harness.Until(t, "the same answer", func() bool {
		return sendTo(t, second, "skew", http.MethodPatch, path, "merge", label(2)).Code == 200
	})
}

// hash returns the metric that contains the hash of the server's configuration, or "".
func hash(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	for name := range scrape(t, c) {
		if strings.HasPrefix(name, "apiserver_authorization_config_controller_last_config_info{") {
			return name
		}
	}
	return ""
}

// socket returns the path of the unix socket on which the etcd of a cluster listens.
func socket(t *testing.T, dir string) string {
	t.Helper()
	var found string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type()&os.ModeSocket != 0 {
			found = path
		}
		return nil
	})
	if err != nil || found == "" {
		t.Fatal(fmt.Errorf("no socket below %s: %v", dir, err))
	}
	return found
}
