// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is the longest time that a script waits for a condition.
const patience = 3 * time.Minute

// folder returns the folder that `make kind` filled, or skips the test.
func folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("KUBE_GRANULAR_KIND")
	if dir == "" {
		t.Skip("no cluster: KUBE_GRANULAR_KIND is not set, which `make test-kind` does")
	}
	return dir
}

// TestCluster runs the scripts one after the other, because they share one node, and one of them drains it.
func TestCluster(t *testing.T) { runScripts(t, "testdata") }

// TestChart installs the Helm chart of the controller of tenants, with the image that hack/kind/test loaded.
func TestChart(t *testing.T) { runScripts(t, filepath.Join("testdata", "chart")) }

// TestClosedCluster runs the scripts for a cluster in which FieldPermissions close all fields that they can. It is skipped
// unless `hack/kind/test closed` made the cluster.
func TestClosedCluster(t *testing.T) {
	if os.Getenv("KUBE_GRANULAR_KIND_CLOSED") == "" {
		t.Skip("no cluster: KUBE_GRANULAR_KIND_CLOSED is not set, which `hack/kind/test closed` does")
	}
	runScripts(t, filepath.Join("testdata", "closed"))
}

func runScripts(t *testing.T, scripts string) {
	t.Helper()
	dir := folder(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// A script that failed after kubectl cordon would leave the node unschedulable for the
	// following scripts.
	kubectl := exec.CommandContext(t.Context(), filepath.Join(dir, "bits", "kubectl"), "uncordon", "--selector=kubernetes.io/os")
	if out, err := kubectl.CombinedOutput(); err != nil {
		t.Fatalf("uncordon all nodes: %v: %s", err, out)
	}
	testscript.RunT(oneByOne{t}, testscript.Params{
		Dir: scripts,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars,
				"KUBECONFIG="+os.Getenv("KUBECONFIG"),
				"PATH="+strings.Join([]string{filepath.Join(dir, "bits"), filepath.Join(root, "bin"), os.Getenv("PATH")}, string(os.PathListSeparator)),
				"CHART="+filepath.Join(root, "tenancy", "charts", "tenancy"),
				"VALUES=fieldPermissions=true,image.repository=registry.invalid/tenancy-controller,image.tag="+os.Getenv("KUBE_GRANULAR_TENANCY_TAG"),
				"RECIPES="+filepath.Join(root, "docs", "recipes"),
				"DEFINITION=crd/lnamespaces.tenancy.kube-granular.dev")
			return nil
		},
		Cmds:               map[string]func(*testscript.TestScript, bool, []string){"eventually": eventually, "refused": refused},
		RequireUniqueNames: true,
		ContinueOnError:    false,
	})
}

// eventually REGEXP COMMAND... repeats a command until it succeeds and its output matches the
// expression.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP COMMAND...")
	}
	want, err := regexp.Compile(args[0])
	ts.Check(err)
	var last string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		err := ts.Exec(args[1], args[2:]...)
		if last = ts.ReadFile("stdout") + ts.ReadFile("stderr"); err == nil && want.MatchString(last) {
			return
		}
		time.Sleep(200 * time.Millisecond) // pause between two attempts
	}
	ts.Fatalf("%s: not within %v, last: %s", strings.Join(args[1:], " "), patience, last)
}

// refused WHY COMMAND... checks that the server refuses a command, and that the message
// contains WHY: the verb that is missing, or the resource.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: refused WHY COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	text := ts.ReadFile("stderr")
	if err == nil || !strings.Contains(text, "is forbidden") || !strings.Contains(text, args[0]) {
		ts.Fatalf("%s", fmt.Sprintf("%s: want it forbidden with %q, got %v: %s", strings.Join(args[1:], " "), args[0], err, text))
	}
}

// TestAudit checks that the node logs what the audit policy of `hack/kind/test` names: requests of granular callers
// have annotations. It is skipped if the cluster was made without an audit policy.
func TestAudit(t *testing.T) {
	folder(t)
	log := os.Getenv("KUBE_GRANULAR_KIND_AUDIT_LOG")
	if log == "" {
		t.Skip("the cluster has no audit log: KIND_AUDIT_POLICY was not set when it was made")
	}
	out, err := exec.CommandContext(t.Context(), "docker", "exec", os.Getenv("KUBE_GRANULAR_KIND_NODE"), "cat", log).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), `"kind":"Event"`) || !strings.Contains(string(out), "granular.authorization.kube-granular.dev/") {
		t.Errorf("%d bytes of audit log have no event of a granular caller", len(out))
	}
}

// TestImage loads the image of the server into Docker and runs it.
func TestImage(t *testing.T) {
	dir := folder(t)
	docker := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "docker", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	_, image, found := strings.Cut(docker("load", "--input", filepath.Join(dir, "kube-apiserver.tar")), "Loaded image: ")
	image = strings.TrimSpace(image)
	if !found || !strings.HasPrefix(image, "registry.k8s.io/kube-apiserver:v") {
		t.Fatalf("docker loaded %q", image)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", image).Run() })
	version := docker("run", "--rm", "--network=none", image, "--version")
	if _, tag, _ := strings.Cut(image, ":"); version != "Kubernetes "+strings.ReplaceAll(tag, "_", "+")+"\n" {
		t.Errorf("%s says it is %q", image, version)
	}
}
