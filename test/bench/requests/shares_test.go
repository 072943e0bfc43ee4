// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"slices"
	"testing"
)

// TestShares holds that every turn is recorded and charged. Where perf may not look, there is
// nothing to hold.
func TestShares(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	if said, err := exec.CommandContext(t.Context(), "perf", "record", "--event", "cpu-clock", "--output", "/dev/null", "--", "true").CombinedOutput(); err != nil {
		t.Skipf("perf: %v: %s", err, said)
	}
	r := requestsReport(t, "shares", "--duration=2s")
	for _, side := range []string{unpatched, gateOn} {
		got, lines := figures(r, side)
		if want := []string{"policy adds µs", "our code µs", "grant adds µs", "grant : policy"}; lines != 1 || !slices.Equal(got, want) {
			t.Errorf("%s has %q in %d lines", side, got, lines)
		}
	}
	for _, line := range r.Lines {
		for _, f := range line.Figures {
			// A granular request is known to take some of our code, and a policy some of its own.
			if (f.Name == "our code µs" || f.Name == "policy adds µs") && f.Value <= 0 {
				t.Errorf("%s: %s is %v", line.Side, f.Name, f.Value)
			}
		}
	}
}
