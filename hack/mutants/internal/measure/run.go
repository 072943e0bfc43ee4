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

// memory is how much address space a test process may take, in KiB. A mutant that
// collects without end is not to take the machine's.
const memory = 8 << 20

// timedOut is why a process did not end by itself.
var timedOut = errors.New("takes too long")

// wallClockFactor is how many times the time that a process may compute it may last. It is long
// because others use the machine too: a limit of the time alone would call a test late
// that never got to run.
const wallClockFactor = 10

// run runs tests of a binary, which may compute for as long as limit says; no names mean
// none of them but what its start-up does. It returns how long they computed. An error
// of the kind exec.ExitError or timedOut is theirs.
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
	limits := fmt.Sprintf(`ulimit -v %d && ulimit -t %d && exec "$0" "$@"`, memory, int(math.Ceil(limit.Seconds())))
	c := exec.CommandContext(limited, "sh", append([]string{"-c", limits, b.path}, args...)...)
	c.Dir = b.dir
	c.Env = append(os.Environ(), "TMPDIR="+temporary)
	c.Env = append(c.Env, env...)
	// What tests start ends with them.
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
		// The system ends a process with this signal that has computed for too long.
		if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			err = timedOut
		}
	}
	if limited.Err() != nil {
		err = timedOut
	}
	return out.String(), took, err
}

// environmentOf is the environment in which a mutant is on.
func environmentOf(m *mutate.Mutant) string { return mutate.EnvOn + "=" + strconv.Itoa(m.ID) }
