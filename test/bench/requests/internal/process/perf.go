// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Perf has perf(1) look, so many times a second of CPU, where the server is, and writes what
// it saw to a file.
func (s *Server) Perf(ctx context.Context, duration time.Duration, hertz int, file string) error {
	cmd := exec.CommandContext(ctx, "perf", "record", "--event", "cpu-clock", "--freq", strconv.Itoa(hertz), "--call-graph", "fp",
		"--pid", strconv.Itoa(s.PID()), "--output", file, "--", "sleep", fmt.Sprint(duration.Seconds()))
	// perf leaves its sleep behind, which has what perf says still open.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("perf: %w: %s", err, said)
	}
	return nil
}

// Stacks gives each sample in a file of Perf's: the names of the functions, innermost first.
func Stacks(ctx context.Context, file string, one func(functions []string)) error {
	cmd := exec.CommandContext(ctx, "perf", "script", "--input", file, "--fields", "ip,sym")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	read := stacks(out, one)
	if err := errors.Join(read, cmd.Wait()); err != nil {
		return fmt.Errorf("perf: %w: %s", err, &said)
	}
	return nil
}

// stacks reads what perf script writes: a line for each function, of its address and name,
// and an empty one after each sample. What has no name is "[unknown]".
func stacks(from io.Reader, one func(functions []string)) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	var functions []string
	end := func() {
		if len(functions) > 0 {
			one(functions)
			functions = functions[:0]
		}
	}
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			end()
			continue
		}
		_, name, ok := strings.Cut(line, " ")
		if !ok {
			return fmt.Errorf("no sample: %q", line)
		}
		functions = append(functions, name)
	}
	end()
	return lines.Err()
}
