// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenancy runs the tenancy controller for a local cluster.
//
// Model: the controller is a separate program, so that the API server does not link its code. It
// is in the directory of this program or on the PATH. The program first installs the manifests of
// the controller as an administrator, and then runs as the controller's service account. Its
// webhooks, health endpoint and metrics listen on free loopback ports. It writes its bill, the
// record of which account pays for which tenant and when, to a file.
//
// Invariant: the controller ends with the cluster, even if the cluster is killed: it exits when
// its standard input, a pipe, is closed.
package tenancy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// User is the user name of the controller's service account.
const User = "system:serviceaccount:tenancy-system:tenancy-controller"

// Groups are the groups of the service account.
var Groups = []string{"system:serviceaccounts", "system:serviceaccounts:tenancy-system", "system:authenticated"}

// ErrMissing means that the program of the controller was not found.
var ErrMissing = errors.New("tenancy-controller is neither next to this program nor on the PATH: run `make tenancy`")

// endTimeout is the time limit for the controller to stop.
const endTimeout = 15 * time.Second

// Config configures the controller.
type Config struct {
	// Admin and Kubeconfig are the kubeconfigs of an administrator and of the controller.
	Admin, Kubeconfig string
	// Dir is the directory of the log and the bill.
	Dir string
	// FieldPermissions is true if the server authorizes single fields.
	FieldPermissions bool
	// SudoByDelegation is true if the server serves AuthorityDelegations: then sudoers select a delegation, and
	// impersonate nobody.
	SudoByDelegation bool
}

// Log returns the path of the controller's log.
func (c Config) Log() string { return filepath.Join(c.Dir, "tenancy-controller.log") }

// Bill returns the path of the bill.
func (c Config) Bill() string { return filepath.Join(c.Dir, "bill.db") }

// Controller is a running controller.
type Controller struct {
	// Ended receives an error when the process of the controller ends, for whatever reason.
	Ended chan error
	// Health is the URL below which /readyz succeeds once the API server trusts its webhooks.
	Health string

	stdin io.Closer
	cmd   *exec.Cmd
}

// Find returns the path of the controller's program, or ErrMissing.
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

// Start installs the manifests and starts the controller.
func Start(ctx context.Context, program string, c Config) (*Controller, error) {
	var addresses [3]string
	for i := range addresses {
		var err error
		if addresses[i], err = freeAddress(); err != nil {
			return nil, err
		}
	}
	fields, sudo := fmt.Sprintf("--field-permissions=%t", c.FieldPermissions), "--sudo=Impersonation"
	if c.SudoByDelegation {
		sudo = "--sudo=Delegation"
	}
	said := bytes.Buffer{}
	install := exec.CommandContext(ctx, program, "install", "--kubeconfig", c.Admin, "--webhook-url", "https://"+addresses[0], fields, sudo)
	install.Stdout, install.Stderr = &said, &said
	if err := install.Run(); err != nil {
		return nil, fmt.Errorf("tenancy-controller install: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	log, err := os.OpenFile(c.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the started process has a descriptor of its own
	cmd := exec.Command(program, "run", "--kubeconfig", c.Kubeconfig, fields, sudo,
		"--webhook-address", addresses[0], "--health-address", addresses[1], "--metrics-address", addresses[2],
		"--leader-elect=false", "--billing-source", c.Bill(), "--until-stdin-ends")
	cmd.Stdout, cmd.Stderr = log, log
	// The controller gets its own process group, so that Ctrl-C in the terminal reaches only this
	// process, which stops the controller before the API server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("tenancy-controller run: %w", err)
	}
	k := &Controller{Ended: make(chan error, 1), Health: "http://" + addresses[1], stdin: stdin, cmd: cmd}
	go func() {
		err := cmd.Wait()
		if err == nil {
			err = errors.New("it ended by itself")
		}
		k.Ended <- err
	}()
	return k, nil
}

// Stop stops the controller and waits until its process has ended. It kills the process after
// endTimeout.
func (k *Controller) Stop() {
	_ = k.stdin.Close()
	select {
	case <-k.Ended:
	case <-time.After(endTimeout):
		_ = k.cmd.Process.Kill()
		<-k.Ended
	}
}

// freeAddress returns a free loopback address.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
