// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Load writes files into the repository at once, without writing them to disk.
type Load struct {
	repo   *Repo
	ref    string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Writer
	stderr bytes.Buffer
	files  bytes.Buffer
	count  int
}

// Load starts to load a commit that a ref will name.
func (r *Repo) Load(ctx context.Context, ref string) (l *Load, err error) {
	l = &Load{repo: r, ref: ref, cmd: r.command(ctx, r.index, "fast-import", "--quiet", "--depth=0")}
	l.cmd.Stderr = &l.stderr
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	l.out = bufio.NewWriterSize(l.in, 1<<20)
	return l, l.cmd.Start()
}

// Add adds a file.
func (l *Load) Add(path string, executable bool, data []byte) {
	l.count++
	fmt.Fprintf(l.out, "blob\nmark :%d\ndata %d\n", l.count, len(data))
	l.out.Write(data)
	l.out.WriteByte('\n')
	fmt.Fprintf(&l.files, "M %s :%d %s\n", Executable(executable), l.count, path)
}

// End makes the commit, and returns its tree. If err is not nil, it makes none and returns err.
func (l *Load) End(ctx context.Context, err error) (string, error) {
	if err != nil {
		_ = l.cmd.Process.Kill()
		_ = l.cmd.Wait()
		return "", err
	}
	fmt.Fprintf(l.out, "reset %s\ncommit %s\ncommitter pristine <pristine> 1000684800 +0000\ndata 0\n%s\n", l.ref, l.ref, l.files.String())
	err = errors.Join(l.out.Flush(), l.in.Close(), l.cmd.Wait())
	if err != nil {
		return "", fmt.Errorf("git fast-import: %w: %s", err, strings.TrimSpace(l.stderr.String()))
	}
	return l.repo.Git(ctx, "rev-parse", l.ref+"^{tree}")
}
