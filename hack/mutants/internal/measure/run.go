// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"errors"
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

// run runs tests of a binary; no names mean none of them but what its start-up does.
// An error of the kind exec.ExitError or timedOut is theirs.
func (b *Binary) run(ctx context.Context, limit time.Duration, names []string, env ...string) error {
	for i, name := range names {
		names[i] = regexp.QuoteMeta(name)
	}
	_, err := b.command(ctx, limit, env, "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	return err
}

func (b *Binary) command(ctx context.Context, limit time.Duration, env []string, args ...string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	temporary, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temporary)
	shell := append([]string{"-c", "ulimit -v " + strconv.Itoa(memory) + ` && exec "$0" "$@"`, b.path}, args...)
	c := exec.CommandContext(limited, "sh", shell...)
	c.Dir = b.dir
	c.Env = append(os.Environ(), "TMPDIR="+temporary)
	c.Env = append(c.Env, env...)
	// What tests start ends with them.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	switch err = c.Run(); {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", timedOut
	}
	return out.String(), err
}

// on is the environment in which a mutant is on.
func on(m *mutate.Mutant) string { return mutate.EnvOn + "=" + strconv.Itoa(m.ID) }
