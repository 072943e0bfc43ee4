// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"kube-granular.dev/test/integration/cluster"
)

var unique atomic.Int64

// Unique returns a number that is unique in this process. Names of objects and users need it,
// because tests share servers.
func Unique() int64 { return unique.Add(1) }

// RunScripts runs the scripts that match a pattern against a cluster.
func RunScripts(t *testing.T, c *cluster.Cluster, pattern string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "script", pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no script matches %s", pattern)
	}
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			namespace := fmt.Sprintf("script-%d", Unique())
			env.Setenv("NS", namespace)
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			for _, user := range []string{"admin", "supersafe", "editor", "viewer"} {
				env.Setenv(strings.ToUpper(user), c.Kubeconfig(user))
			}
			return fixtures(filepath.Join(bin, "kubectl"), c.Kubeconfig("admin"), namespace)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"as":        runKubectlAs(c),
			"send":      send(c),
			"grant":     grant(c),
			"waitfor":   waitfor(c),
			"define":    define(c),
			"snapshot":  snapshot(c),
			"unchanged": unchanged(c),
		},
	})
}

// fixtures creates the namespace of a script, with the objects of testdata/fixtures.
func fixtures(kubectl, kubeconfig, namespace string) error {
	for _, args := range [][]string{
		{"create", "namespace", namespace},
		{"apply", "--server-side", "-n", namespace, "-f", filepath.Join("testdata", "fixtures")},
	} {
		out, err := exec.Command(kubectl, append([]string{"--kubeconfig", kubeconfig}, args...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// runKubectlAs runs kubectl as a user, in the namespace of the script. The script fails if kubectl
// fails. With !, it fails if kubectl succeeds.
//
//	[!] as USER args…
func runKubectlAs(c *cluster.Cluster) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) < 2 {
			ts.Fatalf("usage: as USER args…")
		}
		err := ts.Exec("kubectl", append([]string{"--kubeconfig", c.Kubeconfig(args[0]), "-n", ts.Getenv("NS")}, args[1:]...)...)
		if neg && err == nil {
			ts.Fatalf("as %s: kubectl succeeded, want it refused", strings.Join(args, " "))
		}
		if !neg && err != nil {
			ts.Fatalf("as %s: %v", strings.Join(args, " "), err)
		}
	}
}

// resourceVersion returns a text that changes whenever the stored object changes.
func resourceVersion(c *cluster.Cluster, ts *testscript.TestScript, object string) string {
	cmd := exec.Command("kubectl", "--kubeconfig", c.Kubeconfig("admin"), "-n", ts.Getenv("NS"),
		"get", object, "-o", "jsonpath={.metadata.uid}/{.metadata.resourceVersion}")
	cmd.Path = filepath.Join(strings.SplitN(ts.Getenv("PATH"), string(os.PathListSeparator), 2)[0], "kubectl")
	out, err := cmd.CombinedOutput()
	if err != nil {
		ts.Fatalf("get %s: %v: %s", object, err, out)
	}
	return string(out)
}

func snapshotKey(object string) string {
	return "SNAPSHOT_" + regexp.MustCompile(`\W`).ReplaceAllString(object, "_")
}

// snapshot stores the UID and the resource version of an object. The command unchanged compares
// them later.
//
//	snapshot KIND/NAME
func snapshot(c *cluster.Cluster) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: snapshot KIND/NAME")
		}
		ts.Setenv(snapshotKey(args[0]), resourceVersion(c, ts, args[0]))
	}
}

// unchanged makes the script fail if the object was written after the command snapshot. With !, it
// makes the script fail if the object was not written.
//
//	[!] unchanged KIND/NAME
func unchanged(c *cluster.Cluster) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) != 1 || ts.Getenv(snapshotKey(args[0])) == "" {
			ts.Fatalf("usage: unchanged KIND/NAME, after a snapshot of it")
		}
		same := resourceVersion(c, ts, args[0]) == ts.Getenv(snapshotKey(args[0]))
		if same == neg {
			ts.Fatalf("%s: unchanged since its snapshot: %t", args[0], same)
		}
	}
}
