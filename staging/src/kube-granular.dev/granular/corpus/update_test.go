// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"flag"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what the scenarios expect instead of holding the library to it")

// TestUpdate rewrites the expected results of known kinds if it runs with -update. The caller must
// review every changed line, because the corpus defines the behaviour of the library.
func TestUpdate(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	scenarios := load(t, Read)
	outcomes := map[string]Outcome{}
	for i := range scenarios {
		outcomes[scenarios[i].Name] = run(t, &scenarios[i], Plain)
	}
	files, err := Rewrite(scenarios, outcomes)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("REWROTE the verdicts in %q", files)
}
