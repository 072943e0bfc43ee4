// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kube-granular.dev/test/integration/cluster"
)

// Main runs the tests of a package on what start starts for all of them. dir is an empty folder, which goes with them.
func Main(m *testing.M, start func(dir string) (stop func() error, err error)) {
	code, err := run(m, start)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M, start func(dir string) (stop func() error, err error)) (code int, err error) {
	dir, err := os.MkdirTemp("", "kube-granular-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	stop, err := start(dir)
	if err != nil {
		return 1, err
	}
	code = m.Run()
	return code, stop()
}

// Start runs a server until the test and its subtests end.
func Start(t testing.TB, args ...string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Refuses checks that a server does not start with these arguments, and that its message contains a text.
func Refuses(t *testing.T, says string, args ...string) {
	t.Helper()
	c, err := cluster.Start(args...)
	if err == nil {
		err = c.Stop()
		t.Fatalf("the server started with %q, error %v", args, err)
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("%q is not in: %v", says, err)
	}
}

// ServeWebhook runs a webhook until the test and its subtests end.
func ServeWebhook(t *testing.T, webhook http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(webhook)
	t.Cleanup(server.Close)
	return server
}

// Config returns the client configuration of a user of the cluster.
func Config(t testing.TB, c *cluster.Cluster, user string) *rest.Config {
	t.Helper()
	config, err := c.Config(user)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// KubeconfigWith writes the administrator's kubeconfig with a change into a file, and returns the path of the file.
func KubeconfigWith(t *testing.T, c *cluster.Cluster, file string, change func(*clientcmdapi.Config)) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig("admin"))
	if err != nil {
		t.Fatal(err)
	}
	change(config)
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// MustKubectl is like Kubectl, and ends the test if kubectl fails.
func MustKubectl(t *testing.T, c *cluster.Cluster, stdin string, args ...string) string {
	t.Helper()
	out, err := Kubectl(t, c, stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Kubectl runs kubectl as the administrator and returns its output, stdout and stderr together.
func Kubectl(t *testing.T, c *cluster.Cluster, stdin string, args ...string) (string, error) {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "kubectl"), append([]string{"--kubeconfig", c.Kubeconfig("admin"), "--cache-dir", t.TempDir()}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
