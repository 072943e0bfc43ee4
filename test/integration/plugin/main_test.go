// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// on is the shared server.
var on *cluster.Cluster

func TestMain(m *testing.M) {
	harness.Main(m, func(string) (stop func() error, err error) {
		if _, err := binary(); err != nil {
			return nil, err
		}
		gates := "ProtectedAttributes=true,SelectedAuthority=true,AuthorityDelegation=true,FieldPermissions=true,MetadataReads=true"
		on, err = cluster.Start("--feature-gates", gates)
		return on.Stop, err
	})
}

// binary returns the path of the plugin. It fails if the plugin is missing, because the tests
// must not pass without it.
func binary() (string, error) {
	bin, err := cluster.Bin()
	if err != nil {
		return "", err
	}
	file := filepath.Join(bin, "kubectl-granular")
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("bin/kubectl-granular is missing, run `make kubectl-granular` first: %w", err)
	}
	return file, nil
}

// granular runs the plugin as the administrator and returns both output streams.
func granular(t *testing.T, stdin string, args ...string) (out, errs string, err error) {
	t.Helper()
	return granularAt(t, on.Kubeconfig("admin"), stdin, args...)
}

func granularAt(t *testing.T, kubeconfig, stdin string, args ...string) (out, errs string, err error) {
	t.Helper()
	file, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), file, args...)
	cmd.Env = environment(kubeconfig, t.TempDir())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// environment returns the environment of a user with bin/ on the path.
func environment(kubeconfig, home string) []string {
	bin, err := cluster.Bin()
	if err != nil {
		panic(err) // TestMain has checked this already
	}
	return append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+home, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}
