// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kube-granular.dev/test/integration/cluster"
)

// reader runs the steps of documents in one working directory and against one cluster.
type reader struct {
	dir string
	env []string
	// groups are the process groups of all commands that ran.
	groups []int
}

// clusterDir is the directory of the cluster, as seen from the working directory.
const clusterDir = ".kube-granular"

// commandTimeout ends a command that waits for what never happens, so that the test names it. The
// server reloads its authorizers after a minute at most.
const commandTimeout = 4 * time.Minute

// newReader returns a reader whose working directory holds .kube-granular, as after `make up`. arguments
// are those of the server. When the test ends, processes that the commands left running are stopped.
func newReader(t *testing.T, c *cluster.Cluster, dir string, arguments []string) *reader {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(c.Dir, filepath.Join(dir, clusterDir)); err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(arguments, "--audit-log"); i >= 0 {
		if err := os.Symlink(arguments[i+1], filepath.Join(c.Dir, filepath.Base(arguments[i+1]))); err != nil {
			t.Fatal(err)
		}
	}
	// HOME changes below. Without the old GOCACHE, go would compile the standard library again.
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{dir: dir, env: append(os.Environ(),
		"HOME="+t.TempDir(),
		"GOCACHE="+strings.TrimSpace(string(cache)),
		"KUBECONFIG="+c.Kubeconfig("admin"),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))}
	t.Cleanup(func() {
		for _, group := range r.groups {
			_ = syscall.Kill(-group, syscall.SIGTERM)
		}
	})
	return r
}

// do writes the file of a step, or runs its command. It returns an error if the command does
// not behave as the document says.
func (r *reader) do(s step) error {
	if s.file != "" {
		// A server that watches the file must never see it empty.
		file := filepath.Join(r.dir, s.file)
		return errors.Join(os.WriteFile(file+".new", []byte(s.content), 0o600), os.Rename(file+".new", file))
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", s.command)
	cmd.Dir, cmd.Env = r.dir, r.env
	// The process group is how running finds the processes that a command leaves behind.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A Go program then prints where it waits.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGQUIT) }
	cmd.WaitDelay = 10 * time.Second
	printed, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		r.groups = append(r.groups, cmd.Process.Pid)
	}
	got := output(string(printed))
	if ctx.Err() != nil {
		return fmt.Errorf("line %d: $ %s\ndid not end within %s, printed:\n%s\n%s", s.line, s.command, commandTimeout, strings.Join(got, "\n"), r.server())
	}
	if !matches(got, s.want) {
		return fmt.Errorf("line %d: $ %s\nprinted:\n%s\n\nthe document says:\n%s", s.line, s.command, strings.Join(got, "\n"), strings.Join(s.want, "\n"))
	}
	if failed := err != nil; failed != fails(s.want) {
		return fmt.Errorf("line %d: $ %s\nfailed: %t (%v), printed:\n%s", s.line, s.command, failed, err, strings.Join(got, "\n"))
	}
	return nil
}

// server tells whether the server still answers, and how its log ends.
func (r *reader) server() string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "kubectl get --raw /readyz?verbose; tail -n 20 "+clusterDir+"/kube-apiserver.log; free -m")
	cmd.Dir, cmd.Env = r.dir, r.env
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// running returns the names of the processes that the commands of the document have left
// running.
func (r *reader) running() []string {
	var names []string
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		// The file has the form PID (NAME) STATE PARENT GROUP ..., and NAME may contain any
		// characters.
		begin, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
		fields := strings.Fields(string(text[end+1:]))
		if group, err := strconv.Atoi(fields[2]); err == nil && fields[0] != "Z" && slices.Contains(r.groups, group) {
			names = append(names, string(text[begin+1:end]))
		}
	}
	return names
}
