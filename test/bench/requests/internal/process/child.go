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

// Child is a process that was started here.
type Child struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// Start starts a process, with its output in a file.
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
		_ = cmd.Wait() // whoever ends it knows why, whoever waits for it reads the log
	}()
	return c, nil
}

// PID is the number of the process.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Ended says that the process is no more.
func (c *Child) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Stop kills the process and waits until it is gone. Nobody waits for last words: what
// counts is in etcd, and etcd's data is removed.
func (c *Child) Stop() error {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-c.done
	return nil
}

// tail is the end of the log, for a message.
func (c *Child) tail() string {
	data, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
