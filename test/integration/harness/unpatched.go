// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

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
)

// patience is long enough for starts and stops on a busy machine with two cores.
const patience = 3 * time.Minute

// FindUnpatched returns the path of kube-apiserver without patches, or an empty path if it was not built. The environment
// variable KUBE_GRANULAR_REQUIRE_UNPATCHED turns the latter into an error.
func FindUnpatched(t *testing.T) string {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "bin", "kube-apiserver-unpatched")
	if _, err := os.Stat(path); err == nil {
		return path
	} else if os.Getenv("KUBE_GRANULAR_REQUIRE_UNPATCHED") != "" {
		t.Fatal(err)
	}
	return ""
}

// Unpatched is like FindUnpatched, but skips the test if the server was not built.
func Unpatched(t *testing.T) string {
	t.Helper()
	path := FindUnpatched(t)
	if path == "" {
		t.Skip("bin/kube-apiserver-unpatched is missing: run `make bin/kube-apiserver-unpatched`, which builds Kubernetes once more")
	}
	return path
}

// StartUnpatched runs a kube-apiserver without patches until the test ends, with the certificates of our server and more flags. It
// returns the client of an administrator.
func StartUnpatched(t *testing.T, binary, etcd string, ours *cluster.Cluster, flags ...string) *Client {
	t.Helper()
	_, files, err := pki.Ensure(filepath.Join(ours.Dir, "pki"))
	if err != nil {
		t.Fatal(err)
	}
	config := Config(t, ours, "admin")
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	url := RunAPIServer(t, binary, etcd, files, func(url string) (bool, error) {
		answer, err := client.Get(url + "/readyz")
		if err != nil {
			return false, nil
		}
		return answer.StatusCode == http.StatusOK, answer.Body.Close()
	}, append([]string{"--authorization-mode=RBAC"}, flags...)...)
	return &Client{URL: url, HTTP: client}
}

// RunAPIServer runs a program with the flags of kube-apiserver until the test ends, on a free port of the loopback
// interface. It returns the address when ready says that the server at an address is ready.
func RunAPIServer(t *testing.T, program, etcd string, files pki.Files, ready func(url string) (bool, error), flags ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	process := exec.Command(program, append([]string{
		"--etcd-servers=" + etcd,
		"--client-ca-file=" + files.CA, "--tls-cert-file=" + files.ServingCert, "--tls-private-key-file=" + files.ServingKey,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + files.ServiceAccountSigningKey, "--service-account-key-file=" + files.ServiceAccountPublicKey,
		"--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
		"--shutdown-watch-termination-grace-period=2s",
	}, flags...)...)
	process.Args[0] = "kube-apiserver" // managers of fields are named by it
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
			t.Errorf("%s did not end", program)
		}
	})
	url := fmt.Sprintf("https://127.0.0.1:%d", port)
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		select {
		case err := <-ended:
			ended <- err
			return false, fmt.Errorf("it ended: %v\n%s", err, log.String())
		default:
		}
		return ready(url)
	})
	if err != nil {
		t.Fatalf("%s is not ready: %v", program, err)
	}
	return url
}
