// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"kube-granular.dev/test/integration/cluster"
)

// TestWorkflows runs the steps of both workflows in the page about tests of roles, as CI would: in a
// repository with roles, and with the program at an address with its checksum. Only the step that
// installs packages is left out. The steps pass, and fail if the checksum or a role is another one.
func TestWorkflows(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, "role-tests.md")
	steps, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(root, "bin", "kube-granular")
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	for name, commands := range map[string][]string{
		"GitHub": gitHubSteps(t, section(t, text, "## GitHub Actions")),
		"GitLab": gitLabSteps(t, section(t, text, "## GitLab")),
	} {
		for _, tc := range []struct{ what, sum, verbs, says string }{
			{"passes", sum, "[get, granular,", ""},
			{"another program", strings.Repeat("0", 64), "[get, granular,", "checksum did NOT match"},
			{"a wider role", sum, "[get, delete, granular,", "error: the tests failed"},
		} {
			t.Run(name+" "+tc.what, func(t *testing.T) {
				dir := t.TempDir()
				roles := filepath.Join(dir, "roles")
				if err := os.Mkdir(roles, 0o700); err != nil {
					t.Fatal(err)
				}
				for _, s := range steps {
					if s.file == "" {
						continue
					}
					changed := strings.Replace(s.content, "[get, granular,", tc.verbs, 1)
					if err := os.WriteFile(filepath.Join(roles, s.file), []byte(changed), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", strings.Join(commands, "\n"))
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "KUBE_GRANULAR_URL=file://"+program, "KUBE_GRANULAR_SHA256="+tc.sum)
				out, err := cmd.CombinedOutput()
				if (err == nil) != (tc.says == "") || !strings.Contains(string(out), tc.says) {
					t.Errorf("%v, wanted an error with %q\n%s", err, tc.says, out)
				}
			})
		}
	}
}

// section returns the YAML block below a heading.
func section(t *testing.T, text, heading string) []byte {
	t.Helper()
	_, below, found := strings.Cut(text, "\n"+heading+"\n")
	_, block, begun := strings.Cut(below, "```yaml\n")
	block, _, ended := strings.Cut(block, "```\n")
	if !found || !begun || !ended {
		t.Fatalf("no block below %s", heading)
	}
	return []byte(block)
}

func gitHubSteps(t *testing.T, workflow []byte) []string {
	t.Helper()
	var w struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal(workflow, &w); err != nil || len(w.Jobs["test"].Steps) == 0 {
		t.Fatalf("%v, %+v", err, w)
	}
	var out []string
	for _, s := range w.Jobs["test"].Steps {
		out = append(out, s.Run)
	}
	return out
}

func gitLabSteps(t *testing.T, workflow []byte) []string {
	t.Helper()
	var w map[string]struct{ Script []string }
	if err := yaml.Unmarshal(workflow, &w); err != nil || len(w["roles"].Script) == 0 {
		t.Fatalf("%v, %+v", err, w)
	}
	var out []string
	for _, command := range w["roles"].Script {
		if !strings.HasPrefix(command, "apt-get ") {
			out = append(out, command)
		}
	}
	return out
}
