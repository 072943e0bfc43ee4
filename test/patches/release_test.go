// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// project makes a git repository with what hack/release-notes.sh reads, at version 0.3.0, and returns a function that
// runs a command in it.
func project(t *testing.T, changelog string) (string, func(env []string, name string, args ...string) (string, error)) {
	t.Helper()
	dir := t.TempDir()
	copies := map[string]string{"VERSION": "0.3.0\n", "go.mod": "require (\n\tk8s.io/kubernetes v1.37.1\n)\n", "CHANGELOG.md": changelog}
	for _, script := range []string{"hack/release-notes.sh", "hack/version.sh"} {
		text, err := os.ReadFile(filepath.Join("../..", script))
		if err != nil {
			t.Fatal(err)
		}
		copies[script] = string(text)
	}
	if err := os.Mkdir(filepath.Join(dir, "hack"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range copies {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(env []string, name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "RELEASE_KEY=", "RELEASE_BUILDER=", "RELEASE_VERSION="), env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	commit := []string{"-c", "user.name=n", "-c", "user.email=e@localhost", "commit", "-q", "-m", "m"}
	for _, args := range [][]string{{"init", "-q"}, {"add", "--all"}, commit} {
		if out, err := run(nil, "git", args...); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return dir, run
}

// TestReleaseNotes runs the check that comes before the builds of a release.
func TestReleaseNotes(t *testing.T) {
	const good = "# Changelog\n\n## Unreleased\n\n- soon\n\n## v0.3.0\n\n- a change\n\n## v0.2.0\n\n- old\n"
	for name, tc := range map[string]struct {
		changelog, version string
		env                []string
		change             string
		want               string
		fails              bool
	}{
		"a release":                       {changelog: good, version: "v0.3.0", want: "- a change\n"},
		"a pre-release":                   {changelog: good, version: "v0.3.0-rc.1", want: "- soon\n"},
		"no section":                      {changelog: "## v0.3.01\n\n- x\n", version: "v0.3.0", want: `no section "## v0.3.0"`, fails: true},
		"another version":                 {changelog: good, version: "v0.2.0", want: "the file VERSION says v0.3.0", fails: true},
		"a number that no image can have": {changelog: good, version: "v0.3.0-rc+1", want: "may only be letters", fails: true},
		"a change not committed":          {changelog: good, version: "v0.3.0", change: "echo >>VERSION", want: "not committed", fails: true},
		"a tag elsewhere": {changelog: good, version: "v0.3.0", change: "git tag v0.3.0 && git -c user.name=n -c user.email=e " +
			"commit -q --allow-empty -m m", want: "is on another commit", fails: true},
		"a folder left out": {changelog: good, version: "v0.3.0", env: []string{"SERIES_WITHOUT=speed"}, want: "SERIES_WITHOUT", fails: true},
		"a key that is not there": {changelog: good, version: "v0.3.0", env: []string{"RELEASE_KEY=none.pem", "RELEASE_BUILDER=b"},
			want: "can't read none.pem", fails: true},
		"a key without its releaser": {changelog: good, version: "v0.3.0", env: []string{"RELEASE_KEY=VERSION"},
			want: "RELEASE_BUILDER", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, run := project(t, tc.changelog)
			if out, err := run(nil, "sh", "-c", tc.change); err != nil {
				t.Fatalf("%s: %v: %s", tc.change, err, out)
			}
			out, err := run(tc.env, "hack/release-notes.sh", tc.version)
			if (err != nil) != tc.fails || !strings.Contains(out, tc.want) || strings.Contains(out, "- old") {
				t.Errorf("got %v: %s; want %q", err, out, tc.want)
			}
		})
	}
}

// TestVersion checks what identifies a release and a pre-release.
func TestVersion(t *testing.T) {
	_, run := project(t, "")
	for release, want := range map[string]string{
		"":            "v0.3.0 v1.37.1+granular.0.3.0 v1.37.1_granular.0.3.0",
		"v0.3.0":      "v0.3.0 v1.37.1+granular.0.3.0 v1.37.1_granular.0.3.0",
		"v0.3.0-rc.1": "v0.3.0-rc.1 v1.37.1+granular.0.3.0-rc.1 v1.37.1_granular.0.3.0-rc.1",
	} {
		out, err := run([]string{"RELEASE_VERSION=" + release}, "sh", "-c", "echo $(for p in granular server tag; do hack/version.sh $p; done)")
		if err != nil || strings.TrimSpace(out) != want {
			t.Errorf("%q: %v: %s, want %s", release, err, out, want)
		}
	}
}

// TestDigest checks which files the digests of the server and of the controller of tenants are about. A build from an archive,
// which has no git, has the same digests.
func TestDigest(t *testing.T) {
	dir, run := project(t, "")
	write := func(name, content string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	digests := func() [2]string {
		t.Helper()
		out, err := run(nil, "sh", "-ec", "git add --all 2>/dev/null || true; hack/version.sh digest; hack/version.sh tenancy")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return [2]string(strings.Fields(out))
	}
	names := strings.Fields("pkg/a.go pkg/a_test.go pkg/testdata/a api/a.go tenancy/internal/a.go tenancy/internal/a_test.go docs/a.md goxmod hack/upstream/a.go hack/upstream/testdata/a hack/a.sh")
	for _, name := range names {
		write(name, "before")
	}
	for name, want := range map[string][2]bool{
		"VERSION": {true, true}, "api/a.go": {true, true},
		"pkg/a.go": {true, false}, "go.sum": {true, false}, "hack/upstream/a.go": {true, false},
		"hack/upstream/testdata/a": {}, "hack/a.sh": {},
		"tenancy/internal/a.go": {false, true},
		"pkg/a_test.go":         {}, "pkg/testdata/a": {}, "tenancy/internal/a_test.go": {}, "docs/a.md": {}, "goxmod": {},
	} {
		before := digests()
		write(name, "after "+name)
		after := digests()
		if got := [2]bool{before[0] != after[0], before[1] != after[1]}; got != want {
			t.Errorf("%s changes the digests of the server and of tenancy: %v, want %v", name, got, want)
		}
	}
	inClone := digests()
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if got := digests(); got != inClone {
		t.Errorf("without git %v, want %v", got, inClone)
	}
}

// TestPrerelease checks that the Makefile gives each image the version of a pre-release, which the chart names.
func TestPrerelease(t *testing.T) {
	for target, want := range map[string]string{
		"image":         "+granular.9.9.9-rc.1 ",
		"image-local":   "+granular.9.9.9-rc.1 ",
		"image-tenancy": "gitVersion=v9.9.9-rc.1 ",
		"archives":      "gitVersion=v9.9.9-rc.1 ",
	} {
		out, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "--dry-run", target, "RELEASE_VERSION=v9.9.9-rc.1").CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("make %s: %v, and no %q in\n%s", target, err, want, out)
		}
	}
}

// TestReleaseWorkflow checks that the workflow is YAML, and that the Makefile has its targets and reads its variables.
func TestReleaseWorkflow(t *testing.T) {
	text, err := os.ReadFile("../../.github/workflows/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Environment string
			Permissions map[string]string
			Steps       []struct {
				Run, Uses string
				Env       map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var commands string
	pinned := regexp.MustCompile(`^[a-z]+/[a-z-]+@[0-9a-f]{40}$`)
	for name, job := range workflow.Jobs {
		secrets := 0
		for _, s := range job.Steps {
			commands += s.Run + "\n"
			if s.Uses != "" && !pinned.MatchString(s.Uses) {
				t.Errorf("%s uses %s, which is whatever its tag becomes", name, s.Uses)
			}
			for _, value := range s.Env {
				secrets += strings.Count(value, "secrets.")
			}
		}
		// What compiles has neither the key nor a right to write, and who has the key can be asked first.
		if signs := name == "sign"; signs != (secrets == 1) || signs != (job.Environment == "release") || signs != (job.Permissions["contents"] == "write") {
			t.Errorf("%s: %d secrets, environment %q, permissions %v", name, secrets, job.Environment, job.Permissions)
		}
	}
	targets := regexp.MustCompile(`(?m)\bmake ([a-z-]+)`).FindAllStringSubmatch(commands, -1)
	if len(targets) < 3 {
		t.Errorf("the workflow calls only %v", targets)
	}
	for _, target := range targets {
		if !strings.Contains(string(makefile), "\n"+target[1]+":") {
			t.Errorf("the Makefile has no target %s", target[1])
		}
	}
	for _, name := range strings.Fields("RELEASE_VERSION RELEASE_KEY RELEASE_BUILDER RELEASE_REPOSITORY OWN_IMAGE_REPOSITORY PLUGIN_URL") {
		if !strings.Contains(string(text), name) || !strings.Contains(string(makefile), name) {
			t.Errorf("%s is not in both the workflow and the Makefile", name)
		}
	}
	if n := strings.Count(string(text), "secrets."); n != 1 {
		t.Errorf("%d places name a secret", n)
	}
	// A run by a tag or a branch takes the workflow from there.
	if strings.Contains(string(text), "\n  push:") || strings.Contains(string(text), "pull_request") {
		t.Error("whoever pushes runs a workflow of their own")
	}
	// The key is deleted whatever happens, and no command prints it.
	if !strings.Contains(commands, `trap 'rm -f "$RUNNER_TEMP/key.pem"' EXIT`) || strings.Contains(commands, "secrets.") {
		t.Error("the key could stay on the disk, or be in a command")
	}
}
