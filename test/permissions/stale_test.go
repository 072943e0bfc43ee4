// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/hack/permissions/reference"
	"kube-granular.dev/test/integration/cluster"
)

var update = flag.Bool("update", false, "rewrite the generated files instead of comparing with them")

// TestGeneratedFiles checks that docs/permissions.md and the registry match the schema of the
// running server. These files show every change of the permissions of built-in kinds.
func TestGeneratedFiles(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := reference.Files(kinds)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(root, f.Path)
		if *update {
			t.Logf("REWRITING %s", f.Path)
			if err := os.WriteFile(path, f.Content, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), string(f.Content)); diff != "" {
			t.Errorf("%s is stale, run hack/update-permissions.sh if the change is meant (-have +served):\n%s", f.Path, diff)
		}
	}
}
