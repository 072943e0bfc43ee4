// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"fmt"
	"testing"
	"time"

	"kube-granular.dev/test/integration/harness"
)

// TestMetricsOfDelegations checks what the metrics say of delegations: how many there are in each state, and how each
// request under one has ended. A request that selects none is not counted.
func TestMetricsOfDelegations(t *testing.T) {
	n, _ := stage(t, configMaps)
	before := harness.Metrics(t, on)
	rules := `{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]}`
	soon := fmt.Sprintf(`,"expirationTimestamp":%q`, time.Now().Add(45*time.Minute).UTC().Format(time.RFC3339))
	d := delegation{scope: n, rules: rules}.by(t, "alice", "")
	ending := delegation{scope: n, rules: rules, more: soon}.by(t, "alice", "")
	request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 200)
	request{as: "bot", method: "GET", path: maps(n), under: ending}.want(t, 200)
	request{as: "alice", method: "GET", path: maps(n)}.want(t, 200)
	request{as: "bot", method: "GET", path: maps(n)}.want(t, 403)
	request{as: "bot", method: "POST", path: maps(n), under: d, body: `{"metadata":{"name":"c"}}`}.want(t, 403)
	request{as: "other", method: "GET", path: maps(n), under: d}.want(t, 403)
	request{as: "bot", method: "GET", path: maps(n), under: "none"}.want(t, 403)
	grows(t, before, map[string]float64{
		`delegations{state="valid"}`:                                       1,
		`delegations{state="ending"}`:                                      1,
		`delegations{state="ended"}`:                                       0,
		`delegation_requests_total{reason="",result="allowed"}`:            2,
		`delegation_requests_total{reason="NotCovered",result="refused"}`:  1,
		`delegation_requests_total{reason="NotDelegate",result="refused"}`: 1,
		`delegation_requests_total{reason="NotFound",result="refused"}`:    1,
	})
	patch := func(body string) {
		request{as: "root", method: "PATCH", path: delegations + "/" + d, contentType: "application/merge-patch+json", body: body}.want(t, 200)
	}
	patch(`{"metadata":{"finalizers":["example.com/wait"]}}`)
	for _, name := range []string{d, ending} {
		request{as: "root", method: "DELETE", path: delegations + "/" + name}.want(t, 200)
	}
	grows(t, before, map[string]float64{`delegations{state="valid"}`: 0, `delegations{state="ending"}`: 0, `delegations{state="ended"}`: 1})
	patch(`{"metadata":{"finalizers":null}}`)
	grows(t, before, map[string]float64{`delegations{state="ended"}`: 0})
}

// grows waits until metrics have grown by the given numbers. A request is counted a moment after its answer.
func grows(t *testing.T, before, by map[string]float64) {
	t.Helper()
	var after map[string]float64
	harness.Until(t, fmt.Sprintf("the metrics grow by %v", by), func() bool {
		after = harness.Metrics(t, on)
		for name, want := range by {
			if after[name]-before[name] != want {
				return false
			}
		}
		return true
	})
}

// TestMetricsOfDelegationsAlone checks that a server has these metrics if it serves delegations, and no metric of ours if all
// gates are off.
func TestMetricsOfDelegationsAlone(t *testing.T) {
	for gates, want := range map[string]bool{
		"GranularAuthorization=false,SelectedAuthority=true,AuthorityDelegation=true": true, "GranularAuthorization=false": false,
	} {
		got := harness.Metrics(t, harness.Start(t, "--demo=false", "--feature-gates", gates))
		_, there := got[`delegations{state="valid"}`]
		if _, counted := got[`delegation_requests_total{reason="",result="allowed"}`]; there != want || counted != want {
			t.Errorf("%s: %v", gates, got)
		}
		if !want && len(got) > 0 {
			t.Errorf("%s: %v", gates, got)
		}
	}
}
