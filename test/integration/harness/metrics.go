// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"strconv"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
)

// MetricsPrefix is what the names of our metrics begin with.
const MetricsPrefix = "apiserver_granular_authorization_"

// Metrics reads our metrics as an operator does, by their names and labels.
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
