// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package unpatched

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"kube-granular.dev/pkg/localcluster/etcd"
	"kube-granular.dev/pkg/localcluster/pki"
	"kube-granular.dev/test/integration/cluster"
)

// requireEnv makes a missing binary a failure.
const requireEnv = "KUBE_GRANULAR_REQUIRE_UNPATCHED"

// patience bounds starting and stopping on a busy machine with two cores.
const patience = 3 * time.Minute

// binary returns the path of the server without patches.
func binary(t *testing.T) string {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "bin", "kube-apiserver-unpatched")
	if _, err := os.Stat(path); err != nil {
		message := "bin/kube-apiserver-unpatched is missing: run `make bin/kube-apiserver-unpatched`, which builds Kubernetes once more"
		if os.Getenv(requireEnv) != "" {
			t.Fatal(message)
		}
		t.Skip(message)
	}
	return path
}

// startEtcd runs an etcd that belongs to neither server, and returns its URL.
func startEtcd(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	member, err := etcd.New(etcd.Config{
		DataDir: filepath.Join(dir, "data"), RunDir: filepath.Join(dir, "run"), LogFile: filepath.Join(dir, "etcd.log"),
		Fatal: func(message string) { fmt.Fprintln(os.Stderr, "etcd:", message) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Stop)
	if err := member.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return member.Endpoint()
}

// server is one of the two, and an administrator's way to it.
type server struct {
	name, url string
	client    *http.Client
}

// startOurs runs the patched server.
func startOurs(t *testing.T, etcd string) (*server, *cluster.Cluster) {
	t.Helper()
	c, err := cluster.Start("--etcd-servers", etcd, "--demo=false")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return dial(t, c, "ours", c.URL), c
}

// startTheirs runs the server without patches, with the certificates of ours.
func startTheirs(t *testing.T, binary, etcd string, ours *cluster.Cluster) *server {
	t.Helper()
	_, files, err := pki.Ensure(filepath.Join(ours.Dir, "pki"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	process := exec.Command(binary,
		"--etcd-servers="+etcd,
		"--client-ca-file="+files.CA, "--tls-cert-file="+files.ServingCert, "--tls-private-key-file="+files.ServingKey,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file="+files.ServiceAccountSigningKey, "--service-account-key-file="+files.ServiceAccountPublicKey,
		"--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port="+strconv.Itoa(port),
		"--authorization-mode=RBAC", "--shutdown-watch-termination-grace-period=2s")
	process.Stdout, process.Stderr = &log, &log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = process.Process.Kill()
			t.Error("the server without patches did not end")
		}
	})
	s := dial(t, ours, "theirs", fmt.Sprintf("https://127.0.0.1:%d", port))
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		select {
		case err := <-ended:
			ended <- err
			return false, fmt.Errorf("it ended: %v\n%s", err, log.String())
		default:
		}
		answer, err := s.client.Get(s.url + "/readyz")
		if err != nil {
			return false, nil
		}
		return answer.StatusCode == http.StatusOK, answer.Body.Close()
	})
	if err != nil {
		t.Fatal("the server without patches is not ready:", err)
	}
	return s
}

// dial makes an administrator's client of a server.
func dial(t *testing.T, c *cluster.Cluster, name, url string) *server {
	t.Helper()
	config, err := c.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.Host = url
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &server{name, url, client}
}

// send makes a request and returns what is answered, which must be one of 200 and 201.
func (s *server) send(t *testing.T, method, path, contentType, accept string, body []byte) []byte {
	t.Helper()
	code, answer := s.try(t, method, path, contentType, accept, body)
	if code != http.StatusOK && code != http.StatusCreated {
		t.Fatalf("%s: %s %s: %d %s", s.name, method, path, code, answer)
	}
	return answer
}

func (s *server) try(t *testing.T, method, path, contentType, accept string, body []byte) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", accept)
	answer, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, text
}
