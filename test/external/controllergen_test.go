// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestDefinitionsOfControllerGen checks that controller-gen makes the definitions that the page for authors and
// the tests of the command mark begin with, of the Go types there. It must ignore our markers.
func TestDefinitionsOfControllerGen(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	generator := filepath.Join(t.TempDir(), "controller-gen")
	const program = "sigs.k8s.io/controller-tools/cmd/controller-gen"
	if out, err := run(t, filepath.Join(root, "tenancy"), "build", "-o", generator, program); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "tutorials", "crd-author.md"))
	if err != nil {
		t.Fatal(err)
	}
	shapes, err := txtar.ParseFile(filepath.Join(root, "pkg", "cli", "marker", "testdata", "shapes.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	ofShapes := map[string]string{}
	for _, f := range shapes.Files {
		ofShapes[f.Name] = string(f.Data)
	}
	for name, test := range map[string]struct {
		files                  map[string]string
		generators, definition string
	}{
		"page": {map[string]string{"types/robot.go": block(t, string(page), "types/robot.go")}, "crd:maxDescLen=0",
			block(t, string(page), "types/robots.yaml")},
		"shapes": {ofShapes, "crd", ofShapes["crd.yaml"]},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			test.files["go.mod"] = ofShapes["go.mod"]
			for file, text := range test.files {
				if !strings.HasSuffix(file, ".go") && file != "go.mod" {
					continue
				}
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			sums, err := os.ReadFile(filepath.Join(root, "tenancy", "go.sum"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600); err != nil {
				t.Fatal(err)
			}
			generate := exec.CommandContext(t.Context(), generator, test.generators, "paths=./...", "output:crd:stdout")
			generate.Dir, generate.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
			var errs strings.Builder
			generate.Stderr = &errs
			out, err := generate.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, errs.String())
			}
			if diff := cmp.Diff(test.definition, string(out)); diff != "" {
				t.Errorf("controller-gen makes another definition (-ours +its):\n%s", diff)
			}
		})
	}
}

// block returns the block of a page that has a title.
func block(t *testing.T, page, title string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, " title="+title+"\n")
	text, _, ended := strings.Cut(rest, "```\n")
	if !found || !ended {
		t.Fatalf("the page has no block %s", title)
	}
	return text
}
