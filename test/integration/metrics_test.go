// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestMetrics checks by how much each kind of request increases the metrics. A request that
// asks for more than a few verbs makes one more authorizer call, to read the caller's rules.
// Here that call is of no use, because a webhook in the chain can't list rules. A refused change of a
// label asks for four verbs: the last one is the verb for its key alone.
func TestMetrics(t *testing.T) {
	s := onStage(t)
	path, _ := s.CreateObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: measured}}`)
	var seventy []string
	for i := range 70 {
		seventy = append(seventy, fmt.Sprintf(`"d%02d.example.com/x":"1"`, i))
	}
	one := `{"metadata":{"labels":{"a.example.com/x":"%d"}}}`
	verified := map[string]float64{"authorizer_calls_count": 1, "observe_duration_seconds_count": 1,
		"verify_duration_seconds_count": 1}
	with := func(more map[string]float64) map[string]float64 {
		out := map[string]float64{}
		for _, m := range []map[string]float64{verified, more} {
			for name, value := range m {
				out[name] = value
			}
		}
		return out
	}
	for i, tc := range []struct {
		name   string
		grants []string
		body   string
		code   int
		adds   map[string]float64
	}{
		{"an ordinary write", []string{"patch"}, one, http.StatusOK, map[string]float64{}},
		{"a write that upstream refuses", nil, one, http.StatusForbidden, map[string]float64{}},
		{"allowed", []string{"granular", "granular:label(a.example.com)"}, one, http.StatusOK,
			with(map[string]float64{`decisions_total{result="allowed"}`: 1, "authorizer_calls_sum": 3})},
		{"refused", []string{"granular"}, one, http.StatusForbidden,
			with(map[string]float64{`decisions_total{result="refused"}`: 1, "authorizer_calls_sum": 5})},
		{"refused at the first of seventy", []string{"granular"}, `{"metadata":{"labels":{` + strings.Join(seventy, ",") + `}}}`, http.StatusForbidden,
			with(map[string]float64{`decisions_total{result="refused"}`: 1, "authorizer_calls_sum": 5})},
		{"over budget", append([]string{"granular"}, domains(70)...), `{"metadata":{"labels":{` + strings.Join(seventy, ",") + `}}}`, http.StatusForbidden,
			with(map[string]float64{`decisions_total{result="refused"}`: 1, "authorizer_calls_sum": 65, "over_budget_total": 1})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			user := fmt.Sprintf("measured-%d", i)
			s.Callers.AddCaller(user, tc.grants...)
			before := harness.Metrics(t, s.Cluster)
			body := tc.body
			if strings.Contains(body, "%d") {
				body = fmt.Sprintf(body, i)
			}
			if a := s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], body); a.Code != tc.code {
				t.Errorf("got %s", a)
			}
			after := harness.Metrics(t, s.Cluster)
			for _, name := range []string{
				`decisions_total{result="allowed"}`, `decisions_total{result="refused"}`, `decisions_total{result="error"}`,
				"authorizer_calls_count", "authorizer_calls_sum", "over_budget_total",
				"observe_duration_seconds_count", "verify_duration_seconds_count",
			} {
				if got := after[name] - before[name]; got != tc.adds[name] {
					t.Errorf("%s%s grew by %v, wanted %v", harness.MetricsPrefix, name, got, tc.adds[name])
				}
			}
		})
	}
	if got := harness.Metrics(t, s.Cluster); got[`trees_compiled_total{result="compiled"}`] == 0 || got["verify_duration_seconds_sum"] == 0 {
		t.Errorf("nothing was compiled, or in no time: %v", got)
	}
}

func domains(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("granular:label(d%02d.example.com)", i))
	}
	return out
}
