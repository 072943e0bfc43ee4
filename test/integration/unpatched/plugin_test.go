// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package unpatched

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

// recorded is a log with two requests of jane.
const recorded = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"one","stage":"ResponseComplete","requestURI":"/x","verb":"patch","user":{"username":"jane"},"objectRef":{"resource":"configmaps","namespace":"default","name":"a","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-11-23T08:00:00Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"two","stage":"ResponseComplete","requestURI":"/x","verb":"get","user":{"username":"jane"},"objectRef":{"resource":"configmaps","namespace":"default","name":"a","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-11-23T08:10:00Z"}
`

const firstLine = "This server does not authorize single fields: it has no patches of kube-granular"

// TestPlugin checks that the commands of the plugin which need no single fields work with a server
// without patches, and that their first line says what the server lacks. Our server is the twin: with
// it, no command says so, and what needs single fields works.
func TestPlugin(t *testing.T) {
	path := harness.Unpatched(t)
	endpoint := etcd.Start(t)
	ours, c := startOurs(t, endpoint)
	theirs := startTheirs(t, path, endpoint, c)
	harness.MustKubectl(t, c, "", "create", "rolebinding", "jane-edits", "--clusterrole=edit", "--user=jane")
	dir := t.TempDir()
	log, role := filepath.Join(dir, "audit.log"), filepath.Join(dir, "role.yaml")
	if err := os.WriteFile(log, []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	plugin := func(t *testing.T, s *server, args ...string) (out, errs string, err error) {
		t.Helper()
		bin, err := cluster.Bin()
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "kubectl-granular"), append(args, "--server", s.URL)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig("admin"), "HOME="+t.TempDir())
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err = cmd.Run()
		return stdout.String(), stderr.String(), err
	}
	learned, _, err := plugin(t, theirs, "role", "--subject", "user:jane", "--from-audit", log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(role, []byte(learned), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		// out is in the output of their server. A command without it needs single fields, and fails there.
		out string
	}{
		{"a role from a log", []string{"role", "--subject", "user:jane", "--from-audit", log}, `(?s)- configmaps\n  verbs:\n  - get\n  - patch\n`},
		{"a report", []string{"report", log}, `Which verbs of single fields would suffice is not known`},
		{"a check", []string{"check", "-f", role, "--audit-log", log}, `2 requests: 2 would be allowed, 0 refused`},
		{"holders of an ordinary verb", []string{"who-can", "patch", "configmaps"}, `jane +yes +patch`},
		{"holders of a verb of fields", []string{"who-can", "granular:labels", "configmaps"}, ""},
		{"the fields of a kind", []string{"explain", "configmaps"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, errs, err := plugin(t, theirs, tc.args...)
			if !strings.HasPrefix(errs, firstLine) || strings.Count(errs, firstLine) != 1 {
				t.Errorf("the first line of their server is not about single fields: %s", errs)
			}
			if tc.out == "" {
				if err == nil || !strings.Contains(errs, "the server publishes no permissions") {
					t.Errorf("their server: %v\n%s%s", err, out, errs)
				}
			} else if err != nil || !regexp.MustCompile(tc.out).MatchString(out) {
				t.Errorf("their server: %v\n%s%s", err, out, errs)
			}
			if out, errs, err := plugin(t, ours, tc.args...); err != nil || strings.Contains(errs, firstLine) {
				t.Errorf("our server: %v\n%s%s", err, out, errs)
			}
		})
	}
}
