// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/internal/testmodels"
)

var update = flag.Bool("update", false, "rewrite the golden files instead of comparing with them")

func TestTreeGolden(t *testing.T) {
	for _, kind := range []string{"apps/v1/Deployment", "/v1/Pod", "/v1/ConfigMap", "example.com/v1/Widget"} {
		t.Run(kind, func(t *testing.T) {
			part := strings.Split(kind, "/")
			tree, err := testmodels.Tree(part[0], part[1], part[2])
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", part[2]+".tree")
			if *update {
				t.Logf("REWRITING %s", file)
				if err := os.WriteFile(file, []byte(tree.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), tree.String()); diff != "" {
				t.Errorf("tree differs, run with -update if that is meant (-want +got):\n%s", diff)
			}
		})
	}
}
