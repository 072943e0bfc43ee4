// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// copyFile replaces a file by the content of another.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, to, string(data))
}

// TestReloadProbes checks that a running server loads no webhook that does not answer, and tries
// again with the same file. It checks too that the server loads the new content of a kubeconfig.
func TestReloadProbes(t *testing.T) {
	for _, user := range []string{"probe", "probe-denied"} {
		allow(t, user, "", []string{"configmaps"}, own...)
	}
	path := made(t, "default")
	answers := func(t *testing.T, user string, code int, says string) {
		t.Helper()
		expect(t, send(t, user, http.MethodPatch, path, "merge", label(t.Name()[len(t.Name())-1:])), code, says)
	}
	asked := &asking{}
	good := newHook(t, asked, "good", `deny: [{users: [probe-denied], reason: by the good one}]`)
	use(t, good.in(settings{match: []string{aboutObjects}}), node, rbac)
	gone, stop := stopping(t, "added")
	stop()
	added := newHook(t, asked, "added", `deny: [{users: [probe-denied], reason: by the added one}]`)
	other := newHook(t, asked, "added", `deny: [{users: [probe-denied], reason: by the other one}]`)
	connected := &hook{name: "added", kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	copyFile(t, gone.kubeconfig, connected.kubeconfig)
	config := chained(connected.in(settings{match: []string{aboutObjects}}), node, rbac)

	t.Run("a typo in the address, twice", func(t *testing.T) {
		for range 2 {
			load(t, config, "failure")
			answers(t, "probe-denied", 403, "by the good one")
			answers(t, "probe", 200, "")
		}
		reason := "--authorization-config " + configuration + `: authorizers[0].connectionInfo.kubeConfigFile: Invalid value: \"` + connected.kubeconfig +
			`\": the webhook \"added\" is not healthy: `
		if !logged(t, on.Dir, reason) {
			t.Errorf("the log does not say %s", reason)
		}
	})
	t.Run("the right address", func(t *testing.T) {
		copyFile(t, added.kubeconfig, connected.kubeconfig)
		load(t, config, "success")
		answers(t, "probe-denied", 403, "by the added one")
		answers(t, "probe", 200, "")
	})
	t.Run("the file is not touched", func(t *testing.T) {
		before := reloads(t)
		copyFile(t, other.kubeconfig, connected.kubeconfig)
		harness.Until(t, "the minute's poll", func() bool { return reloads(t)["success"] > before["success"] })
		answers(t, "probe-denied", 403, "by the other one")
		answers(t, "probe", 200, "")
	})
	t.Run("a webhook in force that no longer runs", func(t *testing.T) {
		copyFile(t, gone.kubeconfig, connected.kubeconfig)
		load(t, config, "failure")
		answers(t, "probe-denied", 403, "by the other one")
		copyFile(t, other.kubeconfig, connected.kubeconfig)
		load(t, config, "success")
	})
}

// TestReloadWithoutProbe checks that a server loads a webhook that does not answer, as upstream's does, unless the flag
// turns the probe on and the feature gate is on.
func TestReloadWithoutProbe(t *testing.T) {
	for name, args := range map[string][]string{
		"without the flag": nil,
		"without the gate": {"--feature-gates", "GranularAuthorization=false", "--", "--authorization-config-watch-connections"},
	} {
		t.Run(name, func(t *testing.T) {
			config := filepath.Join(t.TempDir(), "authorization.yaml")
			replace(t, config, chained(nodeAndRBAC...))
			second := harness.Start(t, append([]string{"--etcd-servers", "unix://" + socket(t, on.Dir), "--demo=false", "--authorization-config", config}, args...)...)
			before := hash(t, second)
			gone, stop := stopping(t, "gone")
			stop()
			replace(t, config, chained(gone.in(settings{match: []string{"request.user == 'nobody'"}}), node, rbac))
			harness.Until(t, "a reload", func() bool { return hash(t, second) != before })
			for name, value := range scrape(t, second) {
				if strings.HasPrefix(name, "apiserver_authorization_config_controller_automatic_reloads_total") && strings.Contains(name, "failure") && value != 0 {
					t.Errorf("%s is %v", name, value)
				}
			}
		})
	}
}

// TestSkippedWebhooks checks that the audit event of a request lists the webhooks that were not asked
// about its verb, and none that were skipped for other questions only.
func TestSkippedWebhooks(t *testing.T) {
	allow(t, "skips", "", []string{"configmaps"}, own...)
	asked := &asking{}
	annotated := func(t *testing.T) (string, bool) {
		t.Helper()
		path := made(t, "default")
		expect(t, send(t, "skips", http.MethodPatch, path, "merge", label(1)), 200, "")
		var got map[string]string
		harness.Until(t, "there is an audit event", func() bool {
			got = harness.Annotations(t, auditLog, path)
			return got != nil
		})
		names, ok := got[harness.SkippedAnnotation]
		return names, ok
	}
	if names, ok := annotated(t); ok {
		t.Errorf("without webhooks, %q are skipped", names)
	}
	use(t,
		newHook(t, asked, "verbs", "").in(settings{match: []string{aboutObjects, notGranular}}),
		newHook(t, asked, "fields", "").in(settings{match: []string{aboutObjects, isGranular}}),
		node,
		newHook(t, asked, "nobody", "").in(settings{match: []string{aboutObjects, "request.user == 'nobody'"}}),
		rbac)
	if names, ok := annotated(t); !ok || names != "fields nobody" {
		t.Errorf("%q are skipped", names)
	}
}
