// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
)

// patch is one patch of the series against Kubernetes.
type patch struct {
	folder, name, text string
	// last is true for the last patch of a folder.
	last bool
}

// folders are the mandatory folders of the series, in their order. All other folders are
// optional.
var folders = []string{"core", "rbac", "chain", "statements", "markers", "crd", "authority", "selected", "reads"}

// seamFolders are the folders that add files to the seam.
var seamFolders = []string{"core", "rbac", "chain", "statements", "crd", "authority", "reads"}

// list returns the entries of a file named series, each split into words.
func list(t *testing.T, file string) [][]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			out = append(out, words)
		}
	}
	return out
}

// all returns the patches against Kubernetes in the order in which they are applied. It leaves
// out the YAML files of markers, which can only add comments and type names, as hack/upstream
// verifies.
func all(t *testing.T) []patch {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "patches")
	var out []patch
	for _, folder := range list(t, filepath.Join(dir, "series")) {
		optional := len(folder) > 1 && folder[1] == "optional"
		if _, err := os.Stat(filepath.Join(dir, folder[0])); optional && os.IsNotExist(err) {
			continue
		}
		names := list(t, filepath.Join(dir, folder[0], "series"))
		for i, name := range names {
			if strings.HasSuffix(name[0], ".yaml") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, folder[0], name[0]))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, patch{folder[0], name[0], string(text), i == len(names)-1})
		}
	}
	if len(out) == 0 {
		t.Fatal("there is no patch")
	}
	return out
}

var touched = regexp.MustCompile(`(?m)^diff --git a/(\S+) b/`)

// files returns the files that a patch touches.
func (p patch) files() []string {
	var out []string
	for _, m := range touched.FindAllStringSubmatch(p.text, -1) {
		out = append(out, m[1])
	}
	return out
}

// added returns the lines that a patch adds. With an ending such as ".go", only those of files
// with this ending.
func (p patch) added(ending ...string) []string {
	var out []string
	wanted := false
	for line := range strings.Lines(p.text) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			wanted = len(ending) == 0 || strings.HasSuffix(name, ending[0])
		} else if text, ok := strings.CutPrefix(line, "+"); ok && wanted {
			out = append(out, text)
		}
	}
	return out
}

func (p patch) removed() []string {
	var out []string
	for line := range strings.Lines(p.text) {
		if text, ok := strings.CutPrefix(line, "-"); ok && !strings.HasPrefix(line, "--- ") && line != "-- \n" {
			out = append(out, strings.TrimSuffix(text, "\n"))
		}
	}
	return out
}

// TestOrder checks that the mandatory folders come first and speed comes last, that all other
// folders are optional, and that the numbers of the patches have no gaps.
func TestOrder(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	lines := list(t, filepath.Join(root, "patches", "series"))
	for i, line := range lines {
		switch {
		case i < len(folders) && (line[0] != folders[i] || len(line) > 1):
			t.Errorf("folder %d is %q, wanted %s, which nobody can leave out", i+1, line, folders[i])
		case i >= len(folders) && (len(line) != 2 || line[1] != "optional"):
			t.Errorf("folder %q is not optional", line)
		}
	}
	if last := lines[len(lines)-1][0]; last != "speed" {
		t.Errorf("the last folder is %s, wanted speed", last)
	}
	for _, line := range lines {
		if _, err := os.Stat(filepath.Join(root, "patches", line[0])); len(line) > 1 && os.IsNotExist(err) {
			continue
		}
		for i, name := range list(t, filepath.Join(root, "patches", line[0], "series")) {
			if want := fmt.Sprintf("%04d-", i+1); !strings.HasPrefix(name[0], want) {
				t.Errorf("%s/%s: the number is not %s", line[0], name[0], want)
			}
		}
	}
}

// TestOnePatchOneFile checks that just one patch writes each file that we add, and that no
// patch removes a line that an earlier patch adds. So the series can be read from top to
// bottom.
func TestOnePatchOneFile(t *testing.T) {
	new := map[string]string{}
	added := map[string]map[string]string{}
	for _, p := range all(t) {
		for _, section := range strings.Split(p.text, "\ndiff --git ")[1:] {
			file := touched.FindStringSubmatch("diff --git " + section)[1]
			if by, ok := new[file]; ok {
				t.Errorf("%s/%s touches %s, which %s adds", p.folder, p.name, file, by)
			}
			if strings.Contains(section, "\nnew file mode ") {
				new[file] = p.folder + "/" + p.name
			}
			one := patch{text: "\ndiff --git " + section}
			if added[file] == nil {
				added[file] = map[string]string{}
			}
			for _, line := range one.removed() {
				if by, ok := added[file][line]; ok {
					t.Errorf("%s/%s takes %q out of %s, which %s adds", p.folder, p.name, line, file, by)
				}
			}
			for _, line := range one.added() {
				if text := strings.TrimSpace(line); len(text) > 1 { // every patch may add a bracket
					added[file][line] = p.folder + "/" + p.name
				}
			}
		}
	}
	const seam = "staging/src/k8s.io/apiserver/pkg/authorization/granular/"
	for file, by := range new {
		if folder, _, _ := strings.Cut(by, "/"); strings.HasPrefix(file, seam) && !slices.Contains(seamFolders, folder) {
			t.Errorf("%s adds %s to the seam", by, file)
		}
	}
	if new[seam+"granular.go"] != "core/0001-seam.patch" {
		t.Errorf("the seam is in %q", new[seam+"granular.go"])
	}
}

// loops matches the beginning of a loop in Go code or in a template.
var loops = regexp.MustCompile(`^\s*for\b|\{\{-? range `)

// looping lists the patches that may contain loops, with the reasons. patches/README.md
// describes what else they do.
var looping = map[string]string{
	"crd/0001-extensions.patch":           "goes through the extensions of one node",
	"crd/0002-protobuf.patch":             "generated",
	"crd/0003-seam.patch":                 "drops what nothing enforces, wherever a schema may have it",
	"speed/0002-shared-definitions.patch": "makes the definitions that are shared",
}

// TestPatchesOnlyCall checks that patches only add calls. Loops over objects, lists and schemas
// must be in our packages, except in the patches that looping lists.
func TestPatchesOnlyCall(t *testing.T) {
	for _, p := range all(t) {
		name := p.folder + "/" + p.name
		has := slices.ContainsFunc(append(p.added(".go"), p.added(".tmpl")...), loops.MatchString)
		if why, ok := looping[name]; ok != has {
			t.Errorf("%s has a loop: %t, and is listed: %q", name, has, why)
		}
	}
}

// TestMarkersAreData checks that the folder markers has just one patch, and that this patch
// adds only type aliases in new files. Markers on map keys and list elements are attached to
// these names. All other markers are data.
func TestMarkersAreData(t *testing.T) {
	var names []string
	for _, p := range all(t) {
		if p.folder != "markers" {
			continue
		}
		names = append(names, p.name)
		if strings.Count(p.text, "\ndiff --git ") != strings.Count(p.text, "\nnew file mode ") {
			t.Errorf("%s changes a file of upstream's", p.name)
		}
		alias := regexp.MustCompile(`^type [A-Za-z]+ = string$`)
		code := false
		for _, line := range p.added(".go") {
			switch {
			case strings.HasPrefix(line, "package "):
				code = true
			case code && line != "" && !strings.HasPrefix(line, "//") && !alias.MatchString(line):
				t.Errorf("%s adds %q", p.name, line)
			}
		}
	}
	if want := []string{"0001-names.patch"}; !slices.Equal(names, want) {
		t.Errorf("patches of markers are %q, wanted %q", names, want)
	}
}

// TestCoreKnowsNoSpeed checks that no patch before the folder speed needs or mentions it.
func TestCoreKnowsNoSpeed(t *testing.T) {
	speaks := regexp.MustCompile(`(?i)\bspeed|\bprune|cheaper|faster`)
	for _, p := range all(t) {
		if p.folder == "speed" {
			continue
		}
		for _, line := range append(p.added(), strings.SplitN(p.text, "\n---\n", 2)[0]) {
			if found := speaks.FindString(line); found != "" {
				t.Errorf("%s/%s says %q", p.folder, p.name, found)
			}
		}
	}
}

// TestCoreHoldsNoOtherFeature checks that a reader of the security boundary meets nothing in core that
// another folder is for.
func TestCoreHoldsNoOtherFeature(t *testing.T) {
	other := regexp.MustCompile(`(?i)\b(?:authorityselector|selected|delegat\w+|protected|bindings?|attributes? of|webhook authorizer|` +
		`audit|publish\w*|field manager|metadata alone|acting)\b`)
	for _, p := range all(t) {
		if p.folder != "core" {
			continue
		}
		for _, line := range append(p.added(".go"), strings.SplitN(p.text, "\n---\n", 2)[0]) {
			if found := other.FindString(line); found != "" {
				t.Errorf("%s/%s says %q", p.folder, p.name, found)
			}
		}
	}
}

// TestDocumentedExport checks that the documentation tells readers to export the series before
// they use git am. The folders also contain files of markers, which git am can't read.
func TestDocumentedExport(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"README.md", filepath.Join("patches", "README.md")} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "git am ") || !strings.Contains(string(text), "hack/upstream/run export --out ") {
			t.Errorf("%s does not say how the series is exported for git am", file)
		}
		if strings.Contains(string(text), "/*.patch") && strings.Contains(string(text), "patches/{") {
			t.Errorf("%s names the folders of patches for git am", file)
		}
	}
}
