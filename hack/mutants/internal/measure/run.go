// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"kube-granular.dev/hack/mutants/internal/mutate"
)

// memory limits the writable memory of a test process, in KiB, so that a mutant that allocates
// without end can't exhaust the machine. It does not limit the address space: a test that starts etcd
// maps a file of ten GiB for reading.
const memory = 8 << 20

// timedOut is the error of a test process that was killed because it exceeded its limit of CPU time
// or wall-clock time.
var timedOut = errors.New("takes too long")

// wallClockFactor is the limit of wall-clock time divided by the limit of CPU time. It is large
// because other processes may use the CPUs at the same time.
const wallClockFactor = 10

// run runs the tests with the given names in one process, and returns the CPU time that the
// process used. If there are no names, only the start-up code of the binary runs. If the process
// uses too much CPU time or wall-clock time, the error is timedOut. If a test fails, the error is
// an *exec.ExitError.
func (b *Binary) run(ctx context.Context, limit time.Duration, names []string, env ...string) (time.Duration, error) {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	_, took, err := b.command(ctx, limit, env, "-test.failfast", "-test.run", "^("+strings.Join(quoted, "|")+")$")
	return took, err
}

func (b *Binary) command(ctx context.Context, limit time.Duration, env []string, args ...string) (string, time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, wallClockFactor*limit)
	defer cancel()
	temporary, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return "", 0, err
	}
	defer os.RemoveAll(temporary)
	limits := fmt.Sprintf(`ulimit -d %d && ulimit -t %d && exec "$0" "$@"`, memory, int(math.Ceil(limit.Seconds())))
	c := exec.CommandContext(limited, "sh", append([]string{"-c", limits, b.path}, args...)...)
	c.Dir = b.dir
	c.Env = append(os.Environ(), "TMPDIR="+temporary)
	c.Env = append(c.Env, env...)
	// The tests get a process group of their own, so that Cancel also kills the processes that they
	// started.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	err = c.Run()
	if ctx.Err() != nil {
		return "", 0, ctx.Err()
	}
	var took time.Duration
	if c.ProcessState != nil {
		took = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		// The kernel sends SIGKILL to a process that exceeds its limit of CPU time.
		if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			err = timedOut
		}
	}
	if limited.Err() != nil {
		err = timedOut
	}
	return out.String(), took, err
}

// environmentOf returns the environment variable that enables a mutant.
func environmentOf(m *mutate.Mutant) string { return mutate.EnvOn + "=" + strconv.Itoa(m.ID) }
