// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Child is a process that Start has started.
type Child struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// Start starts a process. Its output is appended to the file log.
func Start(cmd *exec.Cmd, log string) (*Child, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	c := &Child{cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		_ = cmd.Wait() // the error is not needed, because the log explains it
	}()
	return c, nil
}

// PID returns the process ID.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Ended reports whether the process has ended.
func (c *Child) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Stop kills the process, and waits until it has ended. It does not let the process shut down
// gracefully: etcd has all data of a server, and the data of etcd is removed.
func (c *Child) Stop() error {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-c.done
	return nil
}

// tail returns the end of the log, for error messages.
func (c *Child) tail() string {
	data, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
