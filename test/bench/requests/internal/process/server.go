// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Config is the configuration of a server.
type Config struct {
	// Name is a unique name. It is in the name of the log file, and is the prefix of the keys in etcd.
	Name string
	// Prefix replaces Name as the prefix of the keys in etcd. So a server can use the data of
	// another one.
	Prefix string
	// Binary is the path of kube-apiserver. Gates is the value of its flag --feature-gates.
	Binary, Gates string
	// Args are additional flags.
	Args []string
	// MemoryLimit is the GOMEMLIMIT below which the server collects no garbage. If it is empty, the
	// server collects garbage as usual.
	MemoryLimit string
}

// Server is a kube-apiserver that is ready.
type Server struct {
	Config
	// Readiness is the time from the start of the process until /readyz succeeded. ReadinessCPU is
	// the CPU time of the process until then.
	Readiness, ReadinessCPU time.Duration

	*Child
	url       string
	transport *http.Transport
}

// Start runs a server and waits until it is ready.
func (s *Stage) Start(ctx context.Context, c Config) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	prefix := c.Name
	if c.Prefix != "" {
		prefix = c.Prefix
	}
	args := []string{
		"--etcd-servers=unix://" + s.socket, "--etcd-prefix=/" + prefix,
		"--client-ca-file=" + s.Files.CA, "--tls-cert-file=" + s.Files.ServingCert, "--tls-private-key-file=" + s.Files.ServingKey,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + s.Files.ServiceAccountSigningKey, "--service-account-key-file=" + s.Files.ServiceAccountPublicKey,
		"--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
		"--authorization-mode=RBAC", "--token-auth-file=" + s.tokens(),
		// Without this flag pods would need a service account, and no controller creates one.
		"--disable-admission-plugins=ServiceAccount",
	}
	args = append(args, c.Args...)
	if c.Gates != "" {
		args = append(args, "--feature-gates="+c.Gates)
	}
	transport, err := Trusting(s.Files.CA)
	if err != nil {
		return nil, err
	}
	server := &Server{Config: c, transport: transport, url: fmt.Sprintf("https://127.0.0.1:%d", port)}
	cmd := exec.Command(c.Binary, args...)
	if c.MemoryLimit != "" {
		cmd.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT="+c.MemoryLimit)
	}
	begun := time.Now()
	if server.Child, err = Start(cmd, filepath.Join(s.Dir, c.Name+".log")); err != nil {
		return nil, err
	}
	if err := server.awaitReady(ctx); err != nil {
		err = fmt.Errorf("server %q did not become ready: %w\n%s", c.Name, err, server.tail())
		if stop := server.Stop(); stop != nil {
			err = fmt.Errorf("%w; and it can't be stopped: %w", err, stop)
		}
		return nil, err
	}
	server.Readiness = time.Since(begun)
	server.ReadinessCPU, err = server.CPU()
	return server, err
}

func (s *Server) awaitReady(ctx context.Context) error {
	client := s.Client(Administrator)
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		if s.Ended() {
			return false, fmt.Errorf("it ended")
		}
		status, _, _, err := client.Do(ctx, http.MethodGet, "/readyz", "", nil)
		return err == nil && status == http.StatusOK, nil
	})
}

// CPU returns the CPU time that the server has spent.
func (s *Server) CPU() (time.Duration, error) { return CPU(s.PID()) }

// URL returns the URL at which the server listens.
func (s *Server) URL() string { return s.url }

// freePort returns a free port. If another process takes the port before the server does, the server
// fails to start.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
