// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roletest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kube-granular.dev/test/integration/harness"
)

// tempDir returns the directory for temporary files of a command.
func tempDir(cmd *exec.Cmd) string {
	out := ""
	for _, entry := range cmd.Env {
		if dir, ok := strings.CutPrefix(entry, "TMPDIR="); ok {
			out = dir
		}
	}
	return out
}

// checkGone fails if a command left temporary files.
func checkGone(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	left, err := os.ReadDir(tempDir(cmd))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestInterrupted holds that a signal during the tests ends them with the code 130, without a result, and
// that the server's files are gone. The server listens on loopback only, while it runs.
func TestInterrupted(t *testing.T) {
	files, _ := unpack(t, filepath.Join("testdata", "07-tight.txtar"))
	args := []string{"-v", "--tight"}
	for range 100 {
		args = append(args, files...)
	}
	for _, moment := range []string{"starting etcd", "starting kube-apiserver", ""} {
		cmd := command(t, args...)
		var out bytes.Buffer
		cmd.Stdout = &out
		errs, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(errs)
		for moment != "" && lines.Scan() && !strings.Contains(lines.Text(), moment) {
		}
		if moment == "" {
			harness.Until(t, "the server listens", func() bool { return len(addresses(t, cmd.Process.Pid)) > 0 })
			for _, address := range addresses(t, cmd.Process.Pid) {
				if !strings.HasPrefix(address, "0100007F:") {
					t.Errorf("the server listens on %s", address)
				}
			}
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
		}
		err = cmd.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 130 || out.Len() > 0 {
			t.Errorf("%q: %v\n%s", moment, err, out.String())
		}
		checkGone(t, cmd)
	}
}

// addresses returns the TCP addresses on which a process listens, as the kernel writes them.
func addresses(t *testing.T, pid int) []string {
	t.Helper()
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	descriptors, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Skipf("this system does not tell who listens where: %v", err)
	}
	sockets := map[string]bool{}
	for _, fd := range descriptors {
		if link, err := os.Readlink(filepath.Join(proc, "fd", fd.Name())); err == nil {
			sockets[strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]")] = true
		}
	}
	var out []string
	for _, table := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(filepath.Join(proc, "net", table))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			const listening = "0A"
			if f := strings.Fields(line); len(f) > 9 && f[3] == listening && sockets[f[9]] {
				out = append(out, f[1])
			}
		}
	}
	return out
}

// TestExitCodes holds the documented exit codes, and that nothing is left behind.
func TestExitCodes(t *testing.T) {
	files, _ := unpack(t, filepath.Join("testdata", "07-tight.txtar"))
	dir := t.TempDir()
	failing, invalid := filepath.Join(dir, "failing.yaml"), filepath.Join(dir, "invalid.yaml")
	text := `apiVersion: test.kube-granular.dev/v1alpha1
kind: RoleTest
given:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  metadata: {name: view}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]
cases: [{as: {user: jane}, get: {resource: nodes}, expect: allowed}]
`
	configured, delegating := filepath.Join(dir, "configured.yaml"), filepath.Join(dir, "delegating.yaml")
	configuration := `- apiVersion: apiserver.config.k8s.io/v1
  kind: AuthorizationConfiguration
  authorizers: [{type: Node, name: node}, {type: RBAC, name: rbac}]
`
	delegation := `- as: {user: jane}
  object: {apiVersion: authority.kube-granular.dev/v1alpha1, kind: AuthorityDelegation, metadata: {name: a}, spec: {delegates: [{kind: User, name: bob}],
    scope: {namespace: default}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}], expirationTimestamp: "2099-01-01T00:00:00Z"}}
`
	for file, content := range map[string]string{
		failing: text, invalid: "a: b\n",
		configured: strings.NewReplacer("cases:", configuration+"cases:", "expect: allowed", "expect: {refused: {needs: list}}").Replace(text),
		delegating: strings.Replace(text, "cases:", delegation+"cases:", 1),
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		args      []string
		code      int
		out, errs string
	}{
		"passed":               {args: files, out: "7 passed, 0 failed, 0 errors\n"},
		"failed":               {args: []string{failing}, code: 1, out: "refused, needs list\n0 passed, 1 failed", errs: "the tests failed"},
		"failed as commands":   {args: []string{"-o", "github", failing}, code: 1, out: "::error file=" + failing + ",line=9,title="},
		"failed as JUnit":      {args: []string{"-o", "junit", failing}, code: 1, out: `failures="1" errors="0"`},
		"not valid":            {args: []string{failing, invalid}, code: 2, out: "invalid.yaml:1: not a test"},
		"not valid as command": {args: []string{"-o", "github", invalid}, code: 2, out: "::error file=" + invalid + ",line=1,title="},
		"no such file":         {args: []string{filepath.Join(dir, "none")}, code: 2, out: "no such file"},
		"no file":              {code: 2, errs: "requires at least 1 arg"},
		"no such flag":         {args: []string{"--server", "https://127.0.0.1", failing}, code: 2, errs: "unknown flag: --server"},
		"no kubeconfig":        {args: []string{"--kubeconfig", "x", failing}, code: 2, errs: "unknown flag: --kubeconfig"},
		"no such format":       {args: []string{"-o", "xml", failing}, code: 2, errs: "--output"},
		"no such gate":         {args: []string{"--feature-gates", "None=true", failing}, code: 2, errs: "None"},
		"by a configuration":   {args: []string{configured}, out: "1 passed, 0 failed, 0 errors\n"},
		"two configurations":   {args: []string{configured, failing}, code: 2, errs: "have different authorization configurations"},
		"without our gates": {args: []string{"--feature-gates", "AuthorityDelegation=false,SelectedAuthority=false", failing},
			code: 1, out: "0 passed, 1 failed"},
		"a gate that is off": {args: []string{"--feature-gates", "AuthorityDelegation=false", delegating}, code: 2,
			out: "the server has no kind AuthorityDelegation"},
		"the gates are on": {args: []string{"--feature-gates", "RBACIndex=false", delegating}, code: 2, out: "user:jane may not create it"},
		"the schema":       {args: []string{"--schema"}, out: `"title": "RoleTest"`},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, tc.args...)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != tc.code || !strings.Contains(out.String(), tc.out) || !strings.Contains(errs.String(), tc.errs) {
				t.Errorf("exit code %d, wanted %d\n%s\n%s", got, tc.code, out.String(), errs.String())
			}
			checkGone(t, cmd)
		})
	}
}

// TestHundredCases judges a hundred cases of four kinds, and logs how long that took.
func TestHundredCases(t *testing.T) {
	recipe, err := os.ReadFile(filepath.Join(recipes, "scale.yaml"))
	test, err2 := os.ReadFile(filepath.Join(recipes, "scale.test.yaml"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	given, _, found := strings.Cut(string(test), "cases:\n")
	if !found {
		t.Fatal("the test of the recipe has no cases")
	}
	var all strings.Builder
	all.WriteString(given + "cases:\n")
	for i := range 25 {
		for _, c := range []string{
			"scale: {resource: deployments, name: shop/web, replicas: %d}\n  expect: allowed",
			"get: {resource: deployments, name: shop/web}\n  name: read %d\n  expect: allowed",
			"patch: {resource: horizontalpodautoscalers, name: shop/web, merge: {spec: {maxReplicas: %d}}}\n  expect: allowed",
			"patch: {resource: horizontalpodautoscalers, name: shop/web, merge: {spec: {scaleTargetRef: {name: o%d}}}}\n  expect: {refused: {field: .spec.scaleTargetRef}}",
		} {
			fmt.Fprintf(&all, "- as: {user: jane}\n  "+c+"\n", i+5)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "a.test.yaml")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "scale.yaml"), recipe, 0o600), os.WriteFile(file, []byte(all.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, file)
	begun := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "100 passed, 0 failed, 0 errors\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s, of processor time %s", time.Since(begun), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
}
