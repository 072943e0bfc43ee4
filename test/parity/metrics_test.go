// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// families returns the metrics of a server.
func (s *server) families(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	c := call{method: http.MethodGet, path: "/metrics", header: http.Header{}, user: []string{"parity", "system:masters"}}
	a, err := s.send(t.Context(), c, c.path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	out, err := parser.TextToMetricFamilies(strings.NewReader(string(a.body)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// isOwn reports whether a metric is the project's own, or one of upstream that appears because a gate is on: the API group of
// the project has a cache of watches, and the servers elect one that sweeps.
func isOwn(name string) bool {
	return strings.Contains(name, "granular") || name == "apiserver_init_events_total" || name == "leader_election_master_status"
}

// compareMetrics checks that all servers have metrics of the same names, types and labels, and that they counted the same
// writes.
func compareMetrics(t *testing.T, servers []*server) {
	t.Helper()
	describe := func(s *server) (shape map[string]string, writes map[string]float64) {
		shape, writes = map[string]string{}, map[string]float64{}
		for name, family := range s.families(t) {
			if isOwn(name) {
				continue
			}
			labels := map[string]bool{}
			for _, m := range family.Metric {
				names := map[string]string{}
				for _, l := range m.Label {
					labels[l.GetName()] = true
					names[l.GetName()] = l.GetValue()
				}
				// A server writes to itself in these groups and resources, how often depends on its clock.
				if name == "apiserver_request_total" && strings.Contains("POST PUT PATCH APPLY DELETE", names["verb"]) && names["group"] == "apps" {
					writes[fmt.Sprint(names)] = m.GetCounter().GetValue()
				}
			}
			shape[name] = fmt.Sprint(family.GetType(), " ", slices.Sorted(maps.Keys(labels)))
		}
		return shape, writes
	}
	shape, writes := describe(servers[0])
	if len(writes) == 0 {
		t.Error("the leader counted no write")
	}
	for _, s := range servers[1:] {
		otherShape, otherWrites := describe(s)
		if diff := cmp.Diff(shape, otherShape); diff != "" {
			t.Errorf("%s has other metrics:\n%s", s.name, diff)
		}
		if diff := cmp.Diff(writes, otherWrites); diff != "" {
			t.Errorf("%s counted other writes:\n%s", s.name, diff)
		}
	}
	t.Logf("%d metrics and %d counts of writes are compared", len(shape), len(writes))
}
