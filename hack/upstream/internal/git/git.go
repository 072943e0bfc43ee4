// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package git runs git on the repository of the patched tree, which is in upstream/.repo.
//
// The repository has upstream's files as trees, and the state after each patch. Its index mirrors the
// files on disk, so a stat is enough to recognise a file without edits. Paths are tree paths, relative
// to the project's root. Invariant: neither the git settings of a developer nor attributes in the
// sources have an influence. The package knows neither patches nor modules.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// attributes cancel those in the sources. strays are what nobody calls an edit: output of builds, and
// files of editors. If upstream or a patch has a file with such a name, the file is in the index.
const (
	attributes = "* -text -ident -filter -working-tree-encoding !eol !diff !merge !whitespace\n"
	strays     = "_output/\n_tmp/\n.idea/\n.vscode/\n.make/\n*~\n.#*\n*.swp\n*.swo\n*.orig\n*.rej\n*.test\n*.prof\n*.log\n*.out\n.DS_Store\ngo.work.sum\n"
)

// settings are those that commands depend on. Nothing waits for the disk: after a crash of the machine, the folder
// upstream can be made again.
var settings = []string{
	"-c", "core.autocrlf=false", "-c", "core.fileMode=true", "-c", "core.quotePath=true", "-c", "core.fsmonitor=false", "-c", "core.bare=false",
	"-c", "core.checkStat=default", "-c", "core.compression=0", "-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "merge.conflictStyle=diff3",
	"-c", "merge.renames=false", "-c", "core.fsync=none", "-c", "advice.detachedHead=false",
}

// Repo is the repository of a tree.
type Repo struct {
	dir, work, index string
	// roots are the paths of the tree: its other files are no part of it.
	roots []string
	// scratch is an index for trees that are not on disk, and holds the tree in.
	scratch, in string
}

// Open opens the repository dir, and makes it if there is none. work is the project's root, and index the
// file that mirrors the files below the roots. The caller must have locked the tree.
func Open(ctx context.Context, dir, work, index string, roots ...string) (*Repo, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, errors.New("no git command on PATH: install git (https://git-scm.com/downloads) and put it on PATH")
	}
	syscall.Umask(0o022) // git gives files the mode that this allows
	r := &Repo{dir: dir, work: work, index: index, roots: roots, scratch: filepath.Join(dir, "scratch")}
	for _, left := range []string{index + ".lock", r.scratch, r.scratch + ".lock"} { // by a run that was killed
		if err := os.Remove(left); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		if _, err := r.Git(ctx, "init", "--quiet", "--template=", "--initial-branch=main", dir); err != nil {
			return nil, err
		}
	}
	info := filepath.Join(dir, "info")
	return r, errors.Join(os.MkdirAll(info, 0o755), os.WriteFile(filepath.Join(info, "attributes"), []byte(attributes), 0o644),
		os.WriteFile(filepath.Join(info, "strays"), []byte(strays), 0o644))
}

// Git runs a git command, and returns its output without white space at the end.
func (r *Repo) Git(ctx context.Context, args ...string) (string, error) {
	out, _, err := r.run(ctx, r.index, nil, args...)
	return strings.TrimSpace(out), err
}

// run runs a command with an index, and returns both of its outputs.
func (r *Repo) run(ctx context.Context, index string, stdin []byte, args ...string) (string, string, error) {
	cmd := r.command(ctx, index, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), stderr.String(), err
}

// entries runs a command that ends each line of its output with a zero byte, and returns these lines.
func (r *Repo) entries(ctx context.Context, args ...string) ([]string, error) {
	out, _, err := r.run(ctx, r.index, nil, args...)
	if out == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"), err
}

// command returns a command whose environment is that of this process, but without the variables of git
// and of languages. The most important one is GIT_DIR, which is set in a git hook.
func (r *Repo) command(ctx context.Context, index string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append(append([]string{}, settings...), args...)...)
	cmd.Dir = r.work
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "LC_") && !strings.HasPrefix(kv, "LANG") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, // the last value of a variable counts
		"GIT_DIR="+r.dir, "GIT_WORK_TREE="+r.work, "GIT_INDEX_FILE="+index, "HOME="+r.dir, "XDG_CONFIG_HOME="+r.dir,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=kube-granular developers", "GIT_AUTHOR_EMAIL=developers@kube-granular.dev", "GIT_AUTHOR_DATE=2001-09-17T00:00:00Z",
		"GIT_COMMITTER_NAME=kube-granular developers", "GIT_COMMITTER_EMAIL=developers@kube-granular.dev",
		"GIT_COMMITTER_DATE=2001-09-17T00:00:00Z",
		"LC_ALL=C", "TZ=UTC", "PAGER=cat")
	return cmd
}
