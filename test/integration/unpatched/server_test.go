// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package unpatched

import (
	"bytes"
	"context"
	"fmt"
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

	"kube-granular.dev/pkg/localcluster/pki"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// requireEnv is the environment variable that makes a missing binary an error instead of a
// skipped test.
const requireEnv = "KUBE_GRANULAR_REQUIRE_UNPATCHED"

// patience is long enough for starts and stops on a busy machine with two cores.
const patience = 3 * time.Minute

// binary returns the path of the server without patches. It skips the test if the binary is
// missing.
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

// server is one of the two servers, with an administrator's client.
type server struct {
	*harness.Client
	name string
}

// startOurs runs the patched server.
func startOurs(t *testing.T, etcd string) (*server, *cluster.Cluster) {
	t.Helper()
	c := harness.Start(t, "--etcd-servers", etcd, "--demo=false")
	return &server{harness.Connect(t, c, "admin"), "ours"}, c
}

// startTheirs runs the server without patches, with the certificates of our server.
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
	config := harness.Config(t, ours, "admin")
	config.Host = fmt.Sprintf("https://127.0.0.1:%d", port)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{&harness.Client{URL: config.Host, HTTP: client}, "theirs"}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		select {
		case err := <-ended:
			ended <- err
			return false, fmt.Errorf("it ended: %v\n%s", err, log.String())
		default:
		}
		answer, err := s.HTTP.Get(s.URL + "/readyz")
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

// send makes a request that must return 200 or 201, and returns the body.
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
	answer, err := s.Do(t.Context(), harness.Call{Method: method, Path: path, ContentType: contentType, Accept: accept, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Code, answer.Body
}
