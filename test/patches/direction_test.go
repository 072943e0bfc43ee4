// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
)

// linked is the one import that upstream has of us.
const linked = `import _ "kube-granular.dev/pkg/wiring"`

// TestUpstreamKnowsTheSeamOnly holds that the patched tree depends on us in one
// line, the one that installs the Gate.
func TestUpstreamKnowsTheSeamOnly(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	patches, err := filepath.Glob(filepath.Join(root, "patches", "*", "*.patch"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, patch := range patches {
		text, err := os.ReadFile(patch)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			added, ok := strings.CutPrefix(line, "+")
			if !ok || !strings.Contains(added, `"kube-granular.dev`) {
				continue
			}
			if found++; added != linked {
				t.Errorf("%s adds %q", filepath.Base(patch), added)
			}
		}
	}
	if found != 1 {
		t.Errorf("upstream imports us %d times, wanted once", found)
	}
}

// directions says what each part of the project may import of the project.
var directions = []struct {
	dir string
	may []string
}{
	{"staging/src/kube-granular.dev/granular", []string{"kube-granular.dev/granular/"}},
	{"pkg/features", nil},
	{"pkg/audit", nil},
	{"pkg/authorizer", []string{"kube-granular.dev/granular/", "kube-granular.dev/pkg/"}},
	{"pkg/localcluster", []string{"kube-granular.dev/pkg/"}},
	{"pkg", []string{"kube-granular.dev/granular/", "kube-granular.dev/pkg/"}},
	{"cmd", []string{"kube-granular.dev/granular/", "kube-granular.dev/pkg/"}},
	{"hack/upstream", []string{"kube-granular.dev/hack/upstream/"}},
	{"hack/permissions", []string{"kube-granular.dev/hack/permissions/", "kube-granular.dev/granular/", "kube-granular.dev/test/integration/cluster"}},
}

// TestDirections holds that dependencies point one way: cmd, then pkg, then the
// library, which knows nothing of any of them.
func TestDirections(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range directions {
		files := 0
		err := filepath.WalkDir(filepath.Join(root, d.dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			files++
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, spec := range file.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return err
				}
				if strings.HasPrefix(imported, "kube-granular.dev") && !allowed(imported, d.may) {
					t.Errorf("%s imports %s", strings.TrimPrefix(path, root+"/"), imported)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if files == 0 {
			t.Errorf("%s holds no Go file", d.dir)
		}
	}
}

func allowed(imported string, may []string) bool {
	for _, prefix := range may {
		if strings.HasPrefix(imported, prefix) {
			return true
		}
	}
	return false
}
