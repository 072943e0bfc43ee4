// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package unpatched

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

// stock is a server that authorizes no fields: one without patches or, if there is no build of one, ours with all gates off.
type stock struct {
	*cluster.Cluster
	client *harness.Client
	bin    string
}

// startStock starts the server. Its certificates are those of our server.
func startStock(t *testing.T) *stock {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	c := harness.Start(t, "--demo=false", "--feature-gates", "GranularAuthorization=false")
	out := &stock{c, harness.Connect(t, c, "admin"), bin}
	if path := harness.FindUnpatched(t); path != "" {
		out.client = startTheirs(t, path, etcd.Start(t), c).Client
	} else {
		t.Log("bin/kube-apiserver-unpatched is missing: the patched server with its gates off stands in")
	}
	return out
}

// run runs a command against the server.
func (s *stock) run(t *testing.T, command, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(s.bin, command), append(args, "--server", s.client.URL)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig("admin"), "HOME="+t.TempDir())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (s *stock) must(t *testing.T, command, stdin string, args ...string) string {
	t.Helper()
	out, err := s.run(t, command, stdin, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", command, args, err, out)
	}
	return out
}

// send sends a request and returns the status and the body.
func (s *stock) send(t *testing.T, call harness.Call) (int, string) {
	t.Helper()
	answer, err := s.client.Do(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Code, string(answer.Body)
}
