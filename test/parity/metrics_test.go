// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bufio"
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics/testutil"
)

// families are the metrics of a server.
type families struct {
	// shapes has the type and the labels of each metric. writes has the counts of writes.
	shapes map[string]string
	writes map[string]float64
}

// families returns the metrics of a server.
func (s *server) families(t *testing.T) families {
	t.Helper()
	c := call{method: http.MethodGet, path: "/metrics", header: http.Header{}, user: []string{"parity", "system:masters"}}
	a, err := s.send(t.Context(), c, c.path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	samples := testutil.NewMetrics()
	if err := testutil.ParseMetrics(string(a.body), &samples); err != nil {
		t.Fatal(err)
	}
	out := families{map[string]string{}, map[string]float64{}}
	for lines := bufio.NewScanner(bytes.NewReader(a.body)); lines.Scan(); {
		if comment, ok := strings.CutPrefix(lines.Text(), "# TYPE "); ok {
			name, kind, _ := strings.Cut(comment, " ")
			out.shapes[name] = kind
		}
	}
	for name, all := range samples {
		labels := map[string]bool{}
		for _, sample := range all {
			for label := range sample.Metric {
				labels[string(label)] = true
			}
			// A server writes to itself in other groups, how often depends on its clock. A dry run is repeated while a server is late.
			verb := string(sample.Metric["verb"])
			isWrite := strings.Contains("POST PUT PATCH APPLY DELETE", verb) && sample.Metric["dry_run"] == ""
			if name == "apiserver_request_total" && isWrite && sample.Metric["group"] == "apps" {
				out.writes[sample.Metric.String()] = float64(sample.Value)
			}
		}
		out.shapes[name] += " " + strings.Join(slices.Sorted(maps.Keys(labels)), " ")
	}
	maps.DeleteFunc(out.shapes, func(name, _ string) bool {
		return isOwn(name) || name == "etcd_request_errors_total" || streamed[name] // etcd's errors come by chance
	})
	return out
}

// streamed are metrics of streams, which go to the leader alone.
var streamed = map[string]bool{"apiserver_stream_translator_requests_total": true, "apiserver_websocket_streaming_requests_total": true,
	"kube_apiserver_pod_logs_backend_tls_failure_total": true, "kube_apiserver_pod_logs_insecure_backend_total": true}

// isOwn reports whether a metric is the project's own, or one of upstream that appears because a gate is on: the API group of
// the project has a cache of watches, and the servers elect one that sweeps.
func isOwn(name string) bool {
	return strings.Contains(name, "granular") || name == "apiserver_init_events_total" || name == "leader_election_master_status"
}

// compareMetrics checks that all servers have metrics of the same names, types and labels, and that they counted the same
// writes.
func compareMetrics(t *testing.T, servers []*server) {
	t.Helper()
	leader := servers[0].families(t)
	if len(leader.writes) == 0 {
		t.Error("the leader counted no write")
	}
	for _, s := range servers[1:] {
		follower := s.families(t)
		if diff := cmp.Diff(leader.shapes, follower.shapes); diff != "" {
			t.Errorf("%s has other metrics:\n%s", s.name, diff)
		}
		if diff := cmp.Diff(leader.writes, follower.writes); diff != "" {
			t.Errorf("%s counted other writes:\n%s", s.name, diff)
		}
	}
	t.Logf("%d metrics and %d counts of writes are compared", len(leader.shapes), len(leader.writes))
}
