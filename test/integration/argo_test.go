// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/integration/harness"
)

// TestArgoSeesNoDrift checks the customisation of docs/integrations with the objects of a real server. A repository
// has a definition without the exclusions that its author made, and its tool may not weaken them. The definition
// that stays is no difference for Argo CD with the customisation, and one without it. Every other difference shows.
func TestArgoSeesNoDrift(t *testing.T) {
	const customisation = "../../docs/integrations/argocd-cm.yaml"
	page, err := os.ReadFile("../../docs/integrations/argo-cd.md")
	if err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile(customisation)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(settings)), "\n")
	if expression := strings.TrimSpace(lines[len(lines)-1]); strings.Count(string(page), expression+"\n") != 2 {
		t.Errorf("the page has not the expression of the file: %s", expression)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "argo")
	build := exec.Command("go", "-C", "../gitops", "build", "-o", program, "./argo")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	harness.Allow(t, harness.Administrator(t, on), "argo", rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"},
		Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get", "create", "update", "patch"}})
	for name, apply := range map[string][]string{
		"client-side": {"apply", "-f", "-"},
		"server-side": {"apply", "--server-side", "--force-conflicts", "--field-manager=argocd-controller", "-f", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			plural := fmt.Sprintf("argos%d", harness.Unique())
			full := vault(plural)
			defer harness.MustKubectl(t, on, "", "delete", "crd", plural+".vaults.example.com", "--ignore-not-found")
			harness.MustKubectl(t, on, mustJSON(t, full), "create", "-f", "-")
			bare := withoutExtensions(full)
			as := append([]string{"--as=argo"}, apply...)
			out := harness.MustKubectl(t, on, mustJSON(t, bare), as...)
			if !strings.Contains(out, "permission extensions of the stored definition stay") {
				t.Fatalf("the extensions do not stay: %s", out)
			}
			live := harness.MustKubectl(t, on, "", "get", "crd", plural+".vaults.example.com", "-o", "json")
			if !strings.Contains(live, "x-kubernetes-permission-excluded") {
				t.Fatal("the extensions are gone")
			}
			again := harness.MustKubectl(t, on, mustJSON(t, bare), append(as, "--dry-run=server", "-o", "json")...)
			if before, after := specOf(t, live), specOf(t, again[strings.Index(again, "{"):]); before != after {
				t.Errorf("a dry run, as for server-side differences, says\n%s\nthe live definition is\n%s", after, before)
			}
			sees := func(customisation string, file map[string]any, live, want string) {
				t.Helper()
				for name, text := range map[string]string{"file": mustJSON(t, file), "live": live} {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				out, err := exec.Command(program, customisation, filepath.Join(dir, "file"), filepath.Join(dir, "live")).CombinedOutput()
				if got := strings.TrimSpace(string(out)); err != nil || !strings.HasPrefix(got, want) || want == "" && got != "Synced" {
					t.Errorf("%v: %s, want %q", err, got, want)
				}
			}
			sees(customisation, bare, live, "")
			sees("-", bare, live, `OutOfSync {"spec":{"versions":[`)
			sees("-", full, live, "")

			other := withoutExtensions(full)
			version := harness.ValueAt(other, "spec", "versions").([]any)[0].(map[string]any)
			harness.SetAt(version, "integer", "schema", "openAPIV3Schema", "properties", "spec", "properties", "secret", "type")
			sees(customisation, other, live, `OutOfSync {"spec":{"versions":[`)
			more := withoutExtensions(full)
			harness.SetAt(more, "Webhook", "spec", "conversion", "strategy")
			sees(customisation, more, live, `OutOfSync {"spec":{"conversion":`)
			// What the page warns of: a lost exclusion does not show either.
			lost := mustJSON(t, withoutExtensions(decoded(t, live)))
			sees(customisation, full, lost, "")
			sees("-", full, lost, `OutOfSync {"spec":{"versions":[`)
		})
	}
}

// specOf returns the specification of a definition as JSON.
func specOf(t *testing.T, text string) string {
	t.Helper()
	return mustJSON(t, decoded(t, text)["spec"])
}

func decoded(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}
