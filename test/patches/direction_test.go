// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"errors"
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

// linked maps a folder of patches to the only import of our packages in that folder. The last
// patch of the folder must add it.
var linked = map[string]string{
	"core":  `import _ "kube-granular.dev/pkg/wiring"`,
	"speed": `import _ "kube-granular.dev/speed/wiring"`,
}

// TestUpstreamKnowsTheSeamOnly checks that the patched tree imports our packages in two lines
// only: one for the server's wiring, and one for speed, which is optional.
func TestUpstreamKnowsTheSeamOnly(t *testing.T) {
	found := map[string]bool{}
	for _, p := range all(t) {
		for _, line := range p.added() {
			if !strings.Contains(line, `"kube-granular.dev`) {
				continue
			}
			if line != linked[p.folder] || found[p.folder] || !p.last {
				t.Errorf("%s/%s adds %q", p.folder, p.name, line)
			}
			found[p.folder] = true
		}
	}
	if len(found) != len(linked) {
		t.Errorf("imports of us are in %v, wanted one in each of %v", found, linked)
	}
}

// directions lists which packages of the project each part of the project may import. A folder with
// an entry of its own is no part of the folder that contains it.
var directions = []struct {
	dir string
	may []string
}{
	{"staging/src/kube-granular.dev/granular", []string{"kube-granular.dev/granular/"}},
	{"api/printing", []string{"kube-granular.dev/api/printing"}},
	{"api", []string{"kube-granular.dev/api/"}},
	{"pkg/features", nil},
	{"pkg/audit", nil},
	{"pkg/metrics", nil},
	{"pkg/mirror", []string{"kube-granular.dev/pkg/mirror"}},
	{"pkg/rbacindex", nil},
	{"pkg/rounds", nil},
	{"pkg/refusal", nil},
	{"pkg/fieldpermission",
		[]string{"kube-granular.dev/api/", "kube-granular.dev/granular/overlay", "kube-granular.dev/pkg/apis/authority",
			"kube-granular.dev/pkg/audit", "kube-granular.dev/pkg/crd", "kube-granular.dev/pkg/expression",
			"kube-granular.dev/pkg/fieldpermission", "kube-granular.dev/pkg/mirror", "kube-granular.dev/pkg/rounds"}},
	{"pkg/suggest", nil},
	{"pkg/rolecheck",
		[]string{"kube-granular.dev/granular/permission", "kube-granular.dev/granular/registry",
			"kube-granular.dev/granular/schema", "kube-granular.dev/pkg/suggest"}},
	{"pkg/included", []string{"kube-granular.dev/granular/permission", "kube-granular.dev/granular/registry",
		"kube-granular.dev/granular/schema"}},
	{"pkg/authorizationconfig", nil},
	{"pkg/coverage", []string{"kube-granular.dev/pkg/coverage"}},
	{"pkg/delegation",
		[]string{"kube-granular.dev/api/authority/v1alpha1", "kube-granular.dev/api/selection",
			"kube-granular.dev/granular/permission", "kube-granular.dev/granular/registry",
			"kube-granular.dev/pkg/apis/authority", "kube-granular.dev/pkg/coverage", "kube-granular.dev/pkg/delegation", "kube-granular.dev/pkg/delegation/policy",
			"kube-granular.dev/pkg/delegation/sweep", "kube-granular.dev/pkg/expression", "kube-granular.dev/pkg/included",
			"kube-granular.dev/pkg/mirror"}},
	{"pkg/delegation/issue",
		[]string{"kube-granular.dev/api/authority/", "kube-granular.dev/api/selection", "kube-granular.dev/pkg/audit",
			"kube-granular.dev/granular/registry", "kube-granular.dev/pkg/coverage", "kube-granular.dev/pkg/delegation",
			"kube-granular.dev/pkg/included", "kube-granular.dev/pkg/selected"}},
	{"pkg/selected",
		[]string{"kube-granular.dev/api/", "kube-granular.dev/granular/permission", "kube-granular.dev/pkg/audit",
			"kube-granular.dev/pkg/coverage", "kube-granular.dev/pkg/delegation", "kube-granular.dev/pkg/included",
			"kube-granular.dev/pkg/metrics", "kube-granular.dev/pkg/rbacindex"}},
	{"pkg/metadataread", []string{"kube-granular.dev/pkg/audit", "kube-granular.dev/pkg/gate/redact",
		"kube-granular.dev/pkg/included", "kube-granular.dev/pkg/rbacindex"}},
	{"pkg/expression", []string{"kube-granular.dev/granular/schema"}},
	{"pkg/crd", []string{"kube-granular.dev/granular/", "kube-granular.dev/pkg/expression"}},
	{"pkg/exclusion", []string{"kube-granular.dev/granular/permission",
		"kube-granular.dev/pkg/audit", "kube-granular.dev/pkg/crd", "kube-granular.dev/pkg/expression",
		"kube-granular.dev/pkg/gate", "kube-granular.dev/pkg/metrics", "kube-granular.dev/pkg/refusal"}},
	{"pkg/gate", []string{
		"kube-granular.dev/granular/", "kube-granular.dev/pkg/gate/", "kube-granular.dev/pkg/audit",
		"kube-granular.dev/pkg/expression", "kube-granular.dev/pkg/metrics", "kube-granular.dev/pkg/modelstest",
		"kube-granular.dev/pkg/rbacindex", "kube-granular.dev/pkg/refusal",
	}},
	{"pkg/gate/convert", nil},
	{"pkg/protected",
		[]string{"kube-granular.dev/api/", "kube-granular.dev/granular/protect",
			"kube-granular.dev/granular/schema", "kube-granular.dev/pkg/apis/authority",
			"kube-granular.dev/pkg/mirror", "kube-granular.dev/pkg/protected", "kube-granular.dev/pkg/registry/authority",
			"kube-granular.dev/pkg/rounds", "kube-granular.dev/pkg/selected"}},
	{"pkg/gate/redact", []string{"kube-granular.dev/granular/change"}},
	{"pkg/cli",
		[]string{"kube-granular.dev/api/", "kube-granular.dev/granular/", "kube-granular.dev/pkg/cli/", "kube-granular.dev/pkg/fieldpermission/entry", "kube-granular.dev/pkg/included",
			"kube-granular.dev/pkg/modelstest", "kube-granular.dev/pkg/refusal", "kube-granular.dev/pkg/suggest",
			"kube-granular.dev/pkg/rolecheck"}},
	{"pkg/localcluster", []string{"kube-granular.dev/api/printing", "kube-granular.dev/pkg/"}},
	{"pkg", []string{"kube-granular.dev/api/", "kube-granular.dev/granular/", "kube-granular.dev/pkg/"}},
	{"speed/wiring", []string{"kube-granular.dev/speed/"}},
	{"speed/features", nil},
	{"speed/fieldmanagement", []string{"kube-granular.dev/granular/equal"}},
	{"speed/equality", []string{"kube-granular.dev/granular/equal", "kube-granular.dev/speed/equality"}},
	{"speed",
		[]string{"kube-granular.dev/granular/", "kube-granular.dev/speed/",
			"kube-granular.dev/test/integration/cluster"}},
	{"test/patches", []string{"kube-granular.dev/granular/", "kube-granular.dev/test/integration/cluster"}},
	{"test/bench",
		[]string{"kube-granular.dev/granular/", "kube-granular.dev/pkg/localcluster/pki", "kube-granular.dev/pkg/modelstest",
			"kube-granular.dev/speed/", "kube-granular.dev/test/bench/"}},
	{"test/cedar", []string{"kube-granular.dev/granular/"}},
	{"test/history",
		[]string{"kube-granular.dev/api/selection", "kube-granular.dev/test/integration/cluster", "kube-granular.dev/test/integration/harness"}},
	{"test/model", nil},
	{"test/parity", []string{"kube-granular.dev/pkg/localcluster/pki", "kube-granular.dev/test/integration/cluster",
		"kube-granular.dev/test/integration/harness"}},
	{"test/exclusions", []string{"kube-granular.dev/granular/overlay", "kube-granular.dev/pkg/gate", "kube-granular.dev/pkg/modelstest"}},
	{"test/versions", []string{"kube-granular.dev/granular/", "kube-granular.dev/pkg/gate"}},
	{"test/integration/cluster", nil},
	{"test/integration/harness",
		[]string{"kube-granular.dev/granular/corpus", "kube-granular.dev/pkg/localcluster/etcd",
			"kube-granular.dev/pkg/localcluster/pki", "kube-granular.dev/test/integration/cluster"}},
	{"test/integration",
		[]string{"kube-granular.dev/api/", "kube-granular.dev/granular/", "kube-granular.dev/pkg/",
			"kube-granular.dev/test/integration/"}},
	{"cmd/kubectl-granular", []string{"kube-granular.dev/api/printing", "kube-granular.dev/pkg/cli/"}},
	{"cmd", []string{"kube-granular.dev/api/printing", "kube-granular.dev/granular/", "kube-granular.dev/pkg/"}},
	{"hack/docs", []string{"kube-granular.dev/api/authority/v1alpha1", "kube-granular.dev/granular/", "kube-granular.dev/hack/docs/"}},
	{"hack/pack", nil},
	{"hack/reference", []string{"kube-granular.dev/pkg/cli/command"}},
	{"hack/mutants", []string{"kube-granular.dev/hack/mutants/"}},
	{"tenancy", []string{"kube-granular.dev/api/", "kube-granular.dev/tenancy/"}},
	{"hack/upstream", []string{"kube-granular.dev/hack/upstream/"}},
	{"hack/permissions",
		[]string{"kube-granular.dev/hack/permissions/", "kube-granular.dev/granular/",
			"kube-granular.dev/test/integration/cluster"}},
}

// TestDirections checks that imports go in one direction: cmd imports pkg, and pkg imports the
// library, but never the reverse.
func TestDirections(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(root, "speed"))
	withoutSpeed := errors.Is(err, fs.ErrNotExist)
	apart := map[string]bool{}
	for _, d := range directions {
		apart[filepath.Join(root, d.dir)] = true
	}
	for _, d := range directions {
		if withoutSpeed && strings.HasPrefix(d.dir, "speed") {
			continue
		}
		files := 0
		err := filepath.WalkDir(filepath.Join(root, d.dir), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && apart[path] && path != filepath.Join(root, d.dir):
				return fs.SkipDir
			case entry.IsDir() || !strings.HasSuffix(path, ".go"):
				return nil
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

// TestTenancyIsApart checks that no other module requires or links the module of the tenancy
// controller.
func TestTenancyIsApart(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	modules := 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (rel == "upstream" || rel == "tenancy" || rel == ".git"):
			return fs.SkipDir
		case rel != "go.work" && filepath.Base(rel) != "go.mod":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		modules++
		if strings.Contains(string(text), "kube-granular.dev/tenancy") || strings.Contains(string(text), "./tenancy") {
			t.Errorf("%s has the module of tenants", rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if modules < 3 {
		t.Errorf("looked at %d files of modules", modules)
	}
}

// TestNothingNeedsSpeed checks that the project can be built without the folder speed: only the
// patched tree and the benchmarks import it.
func TestNothingNeedsSpeed(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (rel == "upstream" || rel == "speed" || rel == ".git"):
			return fs.SkipDir
		case !strings.HasSuffix(rel, ".go") || strings.HasPrefix(rel, "test/bench/") && strings.HasSuffix(rel, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			if strings.HasPrefix(spec.Path.Value, `"kube-granular.dev/speed`) {
				t.Errorf("%s imports %s", rel, spec.Path.Value)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
