// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

// pinned returns what hack/version.sh prints for a part of the version, without the v in front of it.
func pinned(t *testing.T, part string) string {
	t.Helper()
	// The script reads these files. Go repeats a test whose files changed, but only sees those that the test opens itself.
	read(t, "VERSION")
	read(t, "go.mod")
	read(t, "hack/version.sh")
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "hack/version.sh"), part)
	// The pages are about the version of the sources, also when a pre-release is made.
	cmd.Env = append(os.Environ(), "RELEASE_VERSION=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
}

// identity matches the version of a build, as servers report it and as images are tagged.
var identity = regexp.MustCompile(`v(\d+\.\d+\.\d+)[+_]granular\.(\d+\.\d+\.\d+)`)

// TestInstalledVersion checks that the pages about installing name the version of the sources. A later number of
// kube-granular is allowed, as an example of an upgrade.
func TestInstalledVersion(t *testing.T) {
	kubernetes, granular := pinned(t, "kubernetes"), version.MustParseGeneric(pinned(t, "granular"))
	pages, err := filepath.Glob(filepath.Join(root, "docs/install/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, filepath.Join(root, "docs/install.md"), filepath.Join(root, "docs/support.md")) {
		for _, m := range identity.FindAllStringSubmatch(read(t, strings.TrimPrefix(page, root)), -1) {
			found++
			if own := version.MustParseGeneric(m[2]); own.LessThan(granular) || own.EqualTo(granular) && m[1] != kubernetes {
				t.Errorf("%s names %s; the sources make v%s+granular.%s", filepath.Base(page), m[0], kubernetes, granular)
			}
		}
	}
	if found < 10 {
		t.Errorf("the pages name %d versions", found)
	}
	for _, page := range []string{"README.md", "docs/install.md", "patches/README.md"} {
		if !strings.Contains(read(t, page), "**v"+kubernetes+"**") {
			t.Errorf("%s does not say that the series is made for **v%s**", page, kubernetes)
		}
	}
}

// TestServerModules checks that the server is built with the modules that upstream's go.mod requires. The go command selects
// one version of a module for the whole workspace, so a module of tests or tools that requires a newer one would change
// the server.
func TestServerModules(t *testing.T) {
	command := func(args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %v: %v", args, err)
		}
		return out
	}
	// These files decide, and Go only sees those that the test opens itself.
	read(t, "go.work")
	var work struct{ Use []struct{ DiskPath string } }
	if err := json.Unmarshal(command("work", "edit", "-json"), &work); err != nil {
		t.Fatal(err)
	}
	for _, use := range work.Use {
		read(t, use.DiskPath, "go.mod")
	}
	var upstream struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(command("mod", "edit", "-json", "upstream/kubernetes/go.mod"), &upstream); err != nil {
		t.Fatal(err)
	}
	selected := map[string]string{}
	for line := range strings.Lines(string(command("list", "-m", "-f", "{{.Path}} {{.Version}}", "all"))) {
		path, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		selected[path] = number
	}
	found := 0
	for _, r := range upstream.Require {
		if r.Version == "v0.0.0" { // A module of Kubernetes itself.
			continue
		}
		found++
		if got := selected[r.Path]; got != r.Version {
			t.Errorf("%s: go.work selects %s, upstream requires %s: \"go mod graph\" shows which of our modules requires it; "+
				"a module with the line \"// Apart from go.work.\" is built alone", r.Path, got, r.Version)
		}
	}
	if found < 100 {
		t.Errorf("upstream requires %d modules", found)
	}
}

// TestModuleVersions checks that all our modules use the version of Kubernetes' modules that the server is built from.
func TestModuleVersions(t *testing.T) {
	staging := "v0." + strings.TrimPrefix(pinned(t, "kubernetes"), "1.")
	required := regexp.MustCompile(`(?m)^(?:require)?\s+k8s\.io/(api|apimachinery|client-go) (v\S+)`)
	found := 0
	for _, module := range []string{"api", "examples/copier", "staging/src/kube-granular.dev/granular", "tenancy", "tenancy/bigquery"} {
		for _, m := range required.FindAllStringSubmatch(read(t, module, "go.mod"), -1) {
			found++
			if m[2] != staging {
				t.Errorf("%s/go.mod requires k8s.io/%s %s, want %s", module, m[1], m[2], staging)
			}
		}
	}
	if found < 10 {
		t.Errorf("the modules require %d modules of Kubernetes", found)
	}
}
