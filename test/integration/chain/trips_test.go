// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// granted is the policy of a webhook that allows the users of these tests all verbs that they
// need.
const granted = `allow: [{users: ["trips*"], verbs: [granular, "granular:replicas", "granular:label(own.example.com)", "granular:annotation(own.example.com)", "granular:data", "granular:condition(Own)", get]}]`

// TestRoundTrips checks how many times the server asks a webhook for a granular request: the
// first time, and again while the answers are cached.
func TestRoundTrips(t *testing.T) {
	asked := &asking{}
	h := newHook(t, asked, "trips", granted)
	use(t, h.in(settings{cached: true, match: []string{aboutObjects}}), node, rbac)
	const web = "/apis/apps/v1/namespaces/default/deployments/web"
	config := made(t, "default")
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	documented, err := os.ReadFile(filepath.Join(root, "docs", "authorizers.md"))
	if err != nil {
		t.Fatal(err)
	}
	// The merge patch for a condition replaces the whole list, so the status must have no
	// others.
	must(t, http.MethodPatch, web+"/status", "merge", `{"status":{"conditions":null}}`)
	for i, tc := range []struct {
		// row is the name of the case in the table of the documentation.
		row, name, path, contentType, body string
		// cold is the number of checks for the first request.
		cold int
	}{
		{"one label, or several of one prefix", "one label", config, "merge",
			`{"metadata":{"labels":{"own.example.com/a":"%d"}}}`, 6},
		{"one label, or several of one prefix", "two labels of one prefix", config, "merge",
			`{"metadata":{"labels":{"own.example.com/a":"%[1]d","own.example.com/b":"%[1]d"}}}`, 6},
		{"a label and an annotation", "a label and an annotation", config, "merge",
			`{"metadata":{"labels":{"own.example.com/a":"%[1]d"},"annotations":{"own.example.com/a":"%[1]d"}}}`, 8},
		{"data of a ConfigMap", "data", config, "merge", `{"data":{"a":"%d"}}`, 4},
		{"replicas, in the object or by `scale`", "replicas", web, "merge", `{"spec":{"replicas":%d}}`, 5},
		{"replicas, in the object or by `scale`", "replicas by scale", web + "/scale", "merge",
			`{"spec":{"replicas":%d}}`, 5},
		{"a condition", "a condition", web + "/status", "merge",
			`{"status":{"conditions":[{"type":"Own","status":"True","message":"%d"}]}}`, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			user := fmt.Sprintf("trips-%d", i)
			if row := fmt.Sprintf("| %s | %d | 0 |", tc.row, tc.cold); !strings.Contains(string(documented), row) {
				t.Errorf("authorizers.md does not say %q", row)
			}
			for again, want := range []int{tc.cold, 0} {
				asked.forget()
				expect(t, send(t, user, http.MethodPatch, tc.path, tc.contentType, fmt.Sprintf(tc.body, 20+2*i+again)), 200, "")
				if got := asked.verbs(user); len(got) != want {
					t.Errorf("request %d took %d questions, wanted %d: %q", again+1, len(got), want, got)
				}
			}
		})
	}
}

// TestTogether checks that equal granular requests at the same time share the checks of
// granular verbs: the webhook is asked once about each, although none is cached when the
// requests arrive. Checks of ordinary verbs are not shared, as in upstream.
func TestTogether(t *testing.T) {
	asked := &asking{}
	// The delay makes all requests arrive while the first waits for its first answer.
	h := newHook(t, asked, "together", `
faults: [{users: [trips-together], delay: 300ms}]
`+granted)
	use(t, h.in(settings{cached: true, match: []string{aboutObjects}}), node, rbac)
	path := made(t, "default")
	const requests = 20
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			code, body, err := harness.Request(on, "trips-together", http.MethodPatch, path, harness.ContentTypes["merge"], label(i))
			if err != nil || code != 200 {
				t.Errorf("%d %s %v", code, body, err)
			}
		})
	}
	all.Wait()
	equal(t, fmt.Sprint(requests, " at once"), slices.DeleteFunc(asked.verbs("trips-together"), func(verb string) bool { return !strings.HasPrefix(verb, "together granular") }), []string{
		"together granular", "together granular:metadata", "together granular:labels", "together granular:label(own.example.com)",
	})
}

// TestVaryingKeys checks a caller whose requests change labels with ever new keys. Each request
// causes a bounded number of checks. The cache of answers has 8,192 entries, so one such caller
// needs many requests to evict an answer that nobody uses meanwhile.
//
// Attack: labels with new keys in each request, to fill the cache of a webhook's answers, or to keep the webhook
// busy
// Answer: at most 64 permission verbs a request
func TestVaryingKeys(t *testing.T) {
	const entries = 8192 // the size of upstream's cache of answers
	asked := &asking{}
	h := newHook(t, asked, "varying", `allow: [{users: [trips-varying], verbs: [granular, "granular:label(k*"]}, {users: [trips-bystander], verbs: [get]}]`)
	use(t, h.in(settings{cached: true, match: []string{aboutObjects, "request.user.startsWith('trips-')"}}), node, rbac)
	path := made(t, "default")
	vary := func(n int) {
		labels := map[string]string{}
		for i := range 200 {
			labels[fmt.Sprintf("k%d-%d.example.com/l", n, i)] = "v"
		}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
		if err != nil {
			t.Fatal(err)
		}
		if a := send(t, "trips-varying", http.MethodPatch, path, "merge", string(body)); a.Code != 403 {
			t.Fatalf("%s", a)
		}
	}
	bystands := func() int {
		before := len(asked.verbs("trips-bystander"))
		expect(t, send(t, "trips-bystander", http.MethodGet, path, "", ""), 200, "")
		return len(asked.verbs("trips-bystander")) - before
	}
	if bystands() != 1 || bystands() != 0 {
		t.Error("the bystander's answer is not remembered")
	}
	// The webhook allows every key, so the limit of checks is what ends each request.
	vary(0)
	first := len(asked.verbs("trips-varying"))
	const requests = 120
	for n := range requests {
		before := len(asked.verbs("trips-varying"))
		vary(n + 1)
		if added := len(asked.verbs("trips-varying")) - before; added > decide.DefaultBudget || added < decide.DefaultBudget-2 {
			t.Errorf("request %d took %d questions", n+1, added)
		}
	}
	total := len(asked.verbs("trips-varying"))
	t.Logf("the first request took %d questions, %d further ones %d", first, requests, total-first)
	if total > entries {
		t.Errorf("%d questions", total)
	}
	if bystands() != 0 {
		t.Error("the bystander's answer was pushed out")
	}
	if got := asked.verbs("trips-varying"); len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		t.Error("a question was asked twice")
	}
}
