// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestModels checks that the models hold, and that each variant with a fault does not.
func TestModels(t *testing.T) {
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("KUBE_GRANULAR_NEEDS_SPIN") != "" {
				t.Fatal(err)
			}
			t.Skipf("%s is not installed: the models are not checked", tool)
		}
	}
	for _, tc := range []struct{ model, variant, want string }{
		{"mirror", "", ""},
		{"mirror", "RECREATE", ""},
		{"mirror", "OLD", "assertion violated"},
		{"mirror", "NO_SEEN", "assertion violated"},
		{"mirror", "NO_TOMB", "assertion violated"},
		{"lastcheck", "", ""},
		{"lastcheck", "NO_WAIT", "assertion violated"},
		{"lastcheck", "EARLY", "assertion violated"},
		{"lastcheck", "WAIT_FIRST", "assertion violated"},
		{"lastcheck", "OWN", "invalid end state"},
	} {
		t.Run(tc.model+tc.variant, func(t *testing.T) {
			fault, states := verify(t, tc.model, tc.variant)
			t.Logf("%s states", states)
			if fault != tc.want {
				t.Errorf("found %q, want %q", fault, tc.want)
			}
		})
	}
}

var (
	faults = regexp.MustCompile(`pan:1: (assertion violated|invalid end state|max search depth too small)`)
	count  = regexp.MustCompile(`(\d+) states, stored`)
)

// verify searches all states of a model. It returns the fault that it finds first, and how many states it saw.
func verify(t *testing.T, model, variant string) (fault, states string) {
	t.Helper()
	source, err := filepath.Abs(model + ".pml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	steps := [][]string{{"spin", "-a", source}, {"gcc", "-O1", "-w", "-DSAFETY", "-o", "pan", "pan.c"}, {"./pan", "-m100000"}}
	if variant != "" {
		steps[0] = []string{"spin", "-D" + variant, "-a", source}
	}
	var out []byte
	for _, step := range steps {
		command := exec.CommandContext(t.Context(), step[0], step[1:]...)
		command.Dir = dir
		if out, err = command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", step, err, out)
		}
	}
	seen := count.FindSubmatch(out)
	if seen == nil {
		t.Fatalf("no search: %s", out)
	}
	if found := faults.FindSubmatch(out); found != nil {
		fault = string(found[1])
	}
	return fault, string(seen[1])
}
