// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"bufio"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"kube-granular.dev/pkg/examplewebhook"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// asking records the checks that several webhooks received, in order.
type asking struct {
	mu    sync.Mutex
	asked []examplewebhook.Record
	from  []string
}

// forget drops the recorded checks.
func (a *asking) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked, a.from = nil, nil
}

// verbs returns the verbs that were asked about a user, each after the name of the webhook that
// was asked.
func (a *asking) verbs(user string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for i, answered := range a.asked {
		if r := answered.Review.ResourceAttributes; r != nil && answered.Review.User == user {
			out = append(out, a.from[i]+" "+r.Verb)
		}
	}
	return out
}

// hook is a webhook in an authorization chain.
type hook struct {
	name, policy, kubeconfig string
	// pause, if set, is called with each check before the webhook answers.
	pause func(examplewebhook.Record)
}

// newHook starts a webhook with a policy. It runs until the test ends.
func newHook(t *testing.T, a *asking, name, policy string) *hook {
	t.Helper()
	dir := t.TempDir()
	h := &hook{name: name, policy: filepath.Join(dir, "policy.yaml"),
		kubeconfig: filepath.Join(dir, "webhook.kubeconfig")}
	replace(t, h.policy, policy)
	server, err := examplewebhook.Start(examplewebhook.Options{
		Policy: h.policy, Listen: "127.0.0.1:0", Kubeconfig: h.kubeconfig,
		OnReview: func(answered examplewebhook.Record) {
			a.mu.Lock()
			a.asked, a.from = append(a.asked, answered), append(a.from, name)
			a.mu.Unlock()
			if h.pause != nil {
				h.pause(answered)
			}
		},
		OnError: func(err error) { t.Log(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// settings are the fields of a webhook's configuration that differ between tests.
type settings struct {
	failure string // Deny if it is empty
	timeout string // 10s if it is empty
	cached  bool
	match   []string
}

// in returns the webhook's entry in the list of authorizers.
func (h *hook) in(s settings) string {
	if s.failure == "" {
		s.failure = "Deny"
	}
	if s.timeout == "" {
		s.timeout = "10s"
	}
	out := fmt.Sprintf(`- type: Webhook
  name: %q
  webhook:
    timeout: %s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: %s
    cacheAuthorizedRequests: %[4]t
    cacheUnauthorizedRequests: %[4]t
    authorizedTTL: 5m
    unauthorizedTTL: 5m
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: %s}
    matchConditions:
`, h.name, s.timeout, s.failure, s.cached, h.kubeconfig)
	if len(s.match) == 0 {
		return strings.TrimSuffix(out, "    matchConditions:\n")
	}
	for _, expression := range s.match {
		out += "    - expression: " + strconv.Quote(expression) + "\n"
	}
	return out
}

// serverID matches the label that differs between servers.
var serverID = regexp.MustCompile(`apiserver_id_hash="[^"]*",?`)

// scrape returns all metrics of a server, without the label that differs between servers.
func scrape(t *testing.T, c *cluster.Cluster) map[string]float64 {
	t.Helper()
	status, text, err := harness.Request(c, harness.Admin, "GET", "/metrics", "", "")
	if err != nil || status != 200 {
		t.Fatalf("%d %v", status, err)
	}
	out := map[string]float64{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := serverID.ReplaceAllString(lines.Text(), "")
		if at := strings.LastIndex(line, " "); at > 0 && !strings.HasPrefix(line, "#") {
			value, err := strconv.ParseFloat(line[at+1:], 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			out[strings.Replace(line[:at], ",}", "}", 1)] += value
		}
	}
	return out
}

// equal checks the verbs that were asked.
func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: asked\n  %q\nwanted\n  %q", what, got, want)
	}
}
