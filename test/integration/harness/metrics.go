// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"strconv"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
)

// MetricsPrefix is the beginning of the names of our metrics.
const MetricsPrefix = "apiserver_granular_authorization_"

// Metrics returns our metrics by name and labels, without MetricsPrefix.
func Metrics(t *testing.T, c *cluster.Cluster) map[string]float64 {
	t.Helper()
	out, err := Kubectl(t, c, "", "get", "--raw", "/metrics")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := map[string]float64{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name, ours := strings.CutPrefix(name, MetricsPrefix); ours {
			if got[name], err = strconv.ParseFloat(value, 64); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
	return got
}

// Metric returns the value of a metric, with its labels in the name, in what a server answers below /metrics.
func Metric(t testing.TB, text, name string) float64 {
	t.Helper()
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return number
		}
	}
	t.Fatalf("the server shows no %s", name)
	return 0
}
