// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/base64"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

const (
	secretPath = "/api/v1/namespaces/default/secrets/recorded"
	value      = "a-value-of-a-secret"
)

// secretWork are requests with values of Secrets.
func secretWork() []step {
	encoded, other := base64.StdEncoding.EncodeToString([]byte(value)), base64.StdEncoding.EncodeToString([]byte(value+"2"))
	return []step{
		{method: http.MethodPost, path: "/api/v1/namespaces/default/secrets",
			body: `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "recorded", "annotations": {"kapp.k14s.io/original": "` + value + `"}}, "stringData": {"password": "` + value + `"}}`},
		{method: http.MethodPatch, path: secretPath, contentType: "application/merge-patch+json",
			body: `{"data": {"password": "` + other + `"}, "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "` + value + `"}}}`},
		{method: http.MethodPatch, path: secretPath, contentType: "application/strategic-merge-patch+json",
			body: `{"stringData": {"user": "` + value + `"}}`},
		{method: http.MethodPatch, path: secretPath, contentType: "application/json-patch+json",
			body: `[{"op": "add", "path": "/data/more", "value": "` + encoded + `"}]`},
		{method: http.MethodGet, path: secretPath},
	}
}

const tests = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: recorded}
rules:
`

// TestRecordedTests holds that the tests that role and check write from an audit log pass, say what the roles
// refuse, and have no value of a Secret. A role with one verb less fails the test.
//
// Attack: a value of a Secret in an audit log is written into a test, which goes into a repository
// Answer: the test has values of its own
func TestRecordedTests(t *testing.T) {
	flags, log := harness.LogBodies(t)
	c := harness.Start(t, append([]string{"--demo=false", "--"}, flags...)...)
	harness.Allow(t, harness.Administrator(t, c), "jane",
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments", "deployments/status", "deployments/scale"}, Verbs: []string{"*"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"*"}})
	if err := do(t, c, "jane"); err != nil {
		t.Fatal(err)
	}
	for _, s := range secretWork() {
		if code, text, err := harness.Request(c, "jane", s.method, s.path, s.contentType, s.body); err != nil || code >= 300 {
			t.Fatal(s.method, s.path, code, text, err)
		}
	}
	dir := t.TempDir()
	run := func(name, stdin string, code int, args ...string) (file, text string) {
		t.Helper()
		file = filepath.Join(dir, name+".test.yaml")
		_, errs, err := granularAt(t, c.Kubeconfig("admin"), stdin, append(args, "--test", file)...)
		if errs != "" && code == 0 || exitCode(err) != code {
			t.Fatalf("%s: %v, %s", name, err, errs)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), value) || strings.Contains(string(data), base64.StdEncoding.EncodeToString([]byte(value))[:20]) {
			t.Errorf("%s: a value of a Secret is in\n%s", name, data)
		}
		return file, string(data)
	}
	learned, text := run("learned", "", 0, "role", "--subject", "user:jane", "--from-audit", log)
	if n := strings.Count(text, "expect: allowed"); n != 16 || strings.Contains(text, "refused:") {
		t.Errorf("learned: %d cases\n%s", n, text)
	}
	wide, _ := run("wide", tests+`- {apiGroups: ["", apps], resources: ["*"], verbs: [get, list, create, update, patch, delete]}`, 0,
		"check", "-f", "-", "--subject", "user:jane", "--audit-log", log)
	narrow, text := run("narrow", tests+`- {apiGroups: [apps], resources: [deployments], verbs: [get, granular, "granular:replicas"]}
- {apiGroups: [""], resources: [secrets], verbs: [get, patch]}
`, 1, "check", "-f", "-", "--subject", "user:jane", "--audit-log", log)
	for _, want := range []string{
		"field: .metadata.labels[team.example/tier]", "needs: granular:label(team.example)", "needs: granular:podTemplateImage", "needs: list", "needs: create",
		"update:", "scale:", "json:", "strategic:", "apply:",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("narrow: %q is not in\n%s", want, text)
		}
	}
	data, err := os.ReadFile(learned)
	if err != nil {
		t.Fatal(err)
	}
	less := filepath.Join(dir, "less.test.yaml")
	if err := os.WriteFile(less, regexp.MustCompile(`(?m)^ *- granular:podTemplateImage\n`).ReplaceAll(data, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := roleTest(t, learned, wide, narrow); code != 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if out, code := roleTest(t, less); code != 1 || !strings.Contains(out, " 1 failed, 0 errors") {
		t.Errorf("without a verb: exit code %d\n%s", code, out)
	}
}

func exitCode(err error) int {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return 0
}

// roleTest runs kube-granular test.
func roleTest(t *testing.T, files ...string) (string, int) {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "kube-granular"), append([]string{"test", "-o", "wide"}, files...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}
