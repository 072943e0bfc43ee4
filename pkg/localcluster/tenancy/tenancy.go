// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenancy runs the controller of tenants beside a local cluster.
//
// Model: the controller is a program of a module of its own, which the API server never
// links. It is found next to this program, told to install what a cluster needs, and
// started with the name of its service account. Its webhooks, its health and its metrics
// listen on loopback, at ports that are free when it starts. Its bill is a file.
//
// Invariant: it ends with the cluster, also when the cluster is killed: it holds the other
// end of a pipe, and ends with it.
package tenancy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// User and Groups are who the controller is: its service account.
const User = "system:serviceaccount:tenancy-system:tenancy-controller"

// Groups are those of the service account.
var Groups = []string{"system:serviceaccounts", "system:serviceaccounts:tenancy-system", "system:authenticated"}

// ErrMissing tells that the program was not built.
var ErrMissing = errors.New("tenancy-controller is neither next to this program nor on the PATH: run `make tenancy`")

// endTimeout is how long the controller may take to end.
const endTimeout = 15 * time.Second

// Config names the cluster.
type Config struct {
	// Admin and Kubeconfig are the kubeconfigs of an administrator and of the controller.
	Admin, Kubeconfig string
	// Dir is where the log and the bill are kept.
	Dir string
	// FieldPermissions tells that the server authorizes single fields.
	FieldPermissions bool
}

// Log returns the file of the controller's log.
func (c Config) Log() string { return filepath.Join(c.Dir, "tenancy-controller.log") }

// Bill returns the file of the bill.
func (c Config) Bill() string { return filepath.Join(c.Dir, "bill.db") }

// Controller is one that runs.
type Controller struct {
	// Ended receives the error of a controller that ends.
	Ended chan error

	health string
	stdin  io.Closer
	cmd    *exec.Cmd
}

// Find returns the program.
func Find() (string, error) {
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), "tenancy-controller")
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	path, err := exec.LookPath("tenancy-controller")
	if err != nil {
		return "", ErrMissing
	}
	return path, nil
}

// Start installs what the cluster needs and starts the controller.
func Start(ctx context.Context, program string, c Config) (*Controller, error) {
	var addresses [3]string
	for i := range addresses {
		var err error
		if addresses[i], err = freeAddress(); err != nil {
			return nil, err
		}
	}
	fields := fmt.Sprintf("--field-permissions=%t", c.FieldPermissions)
	said := bytes.Buffer{}
	install := exec.CommandContext(ctx, program, "install", "--kubeconfig", c.Admin, "--webhook-url", "https://"+addresses[0], fields)
	install.Stdout, install.Stderr = &said, &said
	if err := install.Run(); err != nil {
		return nil, fmt.Errorf("tenancy-controller install: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	log, err := os.OpenFile(c.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has it
	cmd := exec.Command(program, "run", "--kubeconfig", c.Kubeconfig, fields,
		"--webhook-address", addresses[0], "--health-address", addresses[1], "--metrics-address", addresses[2],
		"--leader-elect=false", "--billing-source", c.Bill(), "--until-stdin-ends")
	cmd.Stdout, cmd.Stderr = log, log
	// A Ctrl-C of the terminal is for the cluster, which ends the controller first.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("tenancy-controller run: %w", err)
	}
	k := &Controller{Ended: make(chan error, 1), health: "http://" + addresses[1], stdin: stdin, cmd: cmd}
	go func() {
		err := cmd.Wait()
		if err == nil {
			err = errors.New("it ended by itself")
		}
		k.Ended <- err
	}()
	return k, nil
}

// WaitReady waits until the controller is ready: its webhooks are served, and the API server
// was told whom to trust.
func (k *Controller) WaitReady(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.health+"/readyz", nil)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil
		}
		return answer.StatusCode == http.StatusOK, answer.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("tenancy-controller did not become ready: %w", err)
	}
	return nil
}

// Stop ends the controller and returns when it has ended.
func (k *Controller) Stop() {
	_ = k.stdin.Close()
	select {
	case <-k.Ended:
	case <-time.After(endTimeout):
		_ = k.cmd.Process.Kill()
		<-k.Ended
	}
}

// freeAddress returns an address on loopback that nobody listens at.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
