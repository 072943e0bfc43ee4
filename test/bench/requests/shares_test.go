// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"testing"
)

// TestShares checks that the command shares records every turn and reports its figures. It is
// skipped if perf may not record.
func TestShares(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	if said, err := exec.CommandContext(t.Context(), "perf", "record", "--event", "cpu-clock", "--output", "/dev/null", "--", "true").CombinedOutput(); err != nil {
		t.Skipf("perf: %v: %s", err, said)
	}
	for resource, sides := range map[string]int{"pods": 2, "notes": 4} {
		r := requestsReport(t, "shares", "--duration=2s", "--resource="+resource)
		if len(r.Lines) != sides {
			t.Errorf("%s: %d lines, wanted %d", resource, len(r.Lines), sides)
		}
		for _, line := range r.Lines {
			if len(line.Figures) != 4 {
				t.Errorf("%s, %s: %+v", resource, line.Side, line.Figures)
			}
			for _, f := range line.Figures {
				// A request that needs a permission spends time in our code, and one with a policy spends
				// time in the plugin for policies.
				if (f.Name == "our code µs" || f.Name == "a policy µs") && f.Value <= 0 {
					t.Errorf("%s, %s: %s is %v", resource, line.Side, f.Name, f.Value)
				}
			}
		}
	}
}
