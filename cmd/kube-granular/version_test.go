// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
)

// TestSplitVersion checks which parts a build says of itself.
func TestSplitVersion(t *testing.T) {
	for text, want := range map[string]builtVersion{
		"v1.37.1+granular.0.1.0":    {Granular: "v0.1.0", Kubernetes: "v1.37.1", Sources: "digest"},
		"v1.37.1+granular.0.1.0-rc": {Granular: "v0.1.0-rc", Kubernetes: "v1.37.1", Sources: "digest"},
		"v0.0.0-master+$Format:%H$": {Granular: "unknown", Kubernetes: "v0.0.0-master+$Format:%H$", Sources: "unknown"},
	} {
		if got := splitVersion(apimachineryversion.Info{GitVersion: text, GitCommit: "digest"}); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// TestVersionCommand checks the formats of the command.
func TestVersionCommand(t *testing.T) {
	run := func(arguments ...string) (string, error) {
		out, cmd := &bytes.Buffer{}, newCommand()
		cmd.SetOut(out)
		cmd.SetArgs(append([]string{"version"}, arguments...))
		err := cmd.Execute()
		return out.String(), err
	}
	if out, err := run(); err != nil || !strings.HasPrefix(out, "kube-granular  ") || strings.Count(out, "\n") != 4 {
		t.Errorf("%q, %v", out, err)
	}
	var built builtVersion
	if out, err := run("-o", "json"); err != nil || json.Unmarshal([]byte(out), &built) != nil || built.Go == "" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := run("-o", "yaml"); err != nil || !strings.Contains(out, "granular: ") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := run("-o", "xml"); err == nil {
		t.Errorf("%q", out)
	}
}

// TestDigest checks that the digest of the sources is a hash, and changes with a source and not with a test.
func TestDigest(t *testing.T) {
	root := t.TempDir()
	shell := func(script string) string {
		t.Helper()
		cmd := exec.Command("bash", "-o", "errexit", "-c", script, "test", root)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v %s", script, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	// A copy of the sources without git, as an archive is one.
	shell(`mkdir -p "$1/hack" "$1/pkg/x/testdata" && cp ../../hack/version.sh "$1/hack/" && cp ../../VERSION ../../go.mod ../../go.sum "$1/" && echo package x >"$1/pkg/x/x.go"`)
	digest := func() string { return shell(`"$1/hack/version.sh" digest`) }
	first := digest()
	if len(first) != 40 {
		t.Errorf("the digest is %q", first)
	}
	shell(`echo package x >"$1/pkg/x/x_test.go"; echo data >"$1/pkg/x/testdata/d"`)
	if again := digest(); again != first {
		t.Error("a test changes the digest")
	}
	shell(`echo '// changed' >>"$1/pkg/x/x.go"`)
	second := digest()
	shell(`echo 0.2.0 >"$1/VERSION"`)
	if third := digest(); first == second || second == third {
		t.Error("a source, or the version, does not change the digest")
	}
	if server := shell(`"$1/hack/version.sh" server`); !strings.HasSuffix(server, "+granular.0.2.0") {
		t.Errorf("the server is %q", server)
	}
}
