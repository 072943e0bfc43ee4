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

// Perf lets perf(1) record the server's stacks for a duration, and write them to file. perf takes
// hertz samples in each second of CPU time.
func (s *Server) Perf(ctx context.Context, duration time.Duration, hertz int, file string) error {
	cmd := exec.CommandContext(ctx, "perf", "record", "--event", "cpu-clock", "--freq", strconv.Itoa(hertz), "--call-graph", "fp",
		"--pid", strconv.Itoa(s.PID()), "--output", file, "--", "sleep", fmt.Sprint(duration.Seconds()))
	// A kill of perf alone would leave its child sleep, which keeps the output pipe open. So both are
	// in a process group, which Cancel kills.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("perf: %w: %s", err, said)
	}
	return nil
}

// Stacks reads a file that Perf has written, and calls the function one for each sample. The
// argument of one are the names of the functions on the stack, the innermost function first.
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

// stacks reads the output of perf script, which has one line for each function on the stack, with
// the address and the name, and an empty line after each sample. A function without a name is
// "[unknown]".
func stacks(script io.Reader, one func(functions []string)) error {
	lines := bufio.NewScanner(script)
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
			return fmt.Errorf("unexpected line of perf script: %q", line)
		}
		functions = append(functions, name)
	}
	end()
	return lines.Err()
}
