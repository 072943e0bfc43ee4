// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"kube-granular.dev/hack/upstream/internal/series"
)

// Repo is a temporary repository with a work tree.
type Repo struct {
	dir, home string
}

// New makes an empty repository; Close removes it.
func New(ctx context.Context) (*Repo, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, errors.New("no git command on PATH: materialize and apply work without git, but this command needs it")
	}
	home, err := os.MkdirTemp("", "upstream-git-")
	if err != nil {
		return nil, err
	}
	r := &Repo{home: home, dir: filepath.Join(home, "tree")}
	if _, err := r.gitIn(ctx, home, nil, "init", "--quiet", "--template=", "--initial-branch=main", r.dir); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close removes the repository.
func (r *Repo) Close() error { return os.RemoveAll(r.home) }

// Git runs a git command in the repository.
func (r *Repo) Git(ctx context.Context, args ...string) ([]byte, error) {
	return r.gitIn(ctx, r.dir, nil, args...)
}

func (r *Repo) gitIn(ctx context.Context, dir string, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"-c", "core.autocrlf=false", "-c", "core.fileMode=true", "-c", "core.quotePath=true", "-c", "core.fsmonitor=false",
		"-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "advice.detachedHead=false",
	}, args...)...)
	cmd.Dir = dir
	cmd.Env = r.environ()
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()+stdout.String()))
	}
	return stdout.Bytes(), nil
}

// environ returns the environment for git. It is that of this process, but all variables of git
// have fixed values or are missing. The most important one is GIT_DIR: it is set when the tool
// runs in a git hook, and names another repository.
func (r *Repo) environ() []string {
	env := []string{
		"HOME=" + r.home, "XDG_CONFIG_HOME=" + r.home,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=kube-granular developers", "GIT_AUTHOR_EMAIL=developers@kube-granular.dev", "GIT_AUTHOR_DATE=2001-09-17T00:00:00Z",
		"GIT_COMMITTER_NAME=kube-granular developers", "GIT_COMMITTER_EMAIL=developers@kube-granular.dev", "GIT_COMMITTER_DATE=2001-09-17T00:00:00Z",
		"LC_ALL=C", "TZ=UTC", "PAGER=cat",
	}
	for _, kv := range os.Environ() {
		switch name, _, _ := strings.Cut(kv, "="); {
		case strings.HasPrefix(name, "GIT_"), name == "HOME", name == "XDG_CONFIG_HOME", name == "LC_ALL", name == "TZ", name == "PAGER", name == "LANG", name == "LANGUAGE":
		default:
			env = append(env, kv)
		}
	}
	return env
}

// Tree replaces the content of the work tree by a state, and returns the ID of the git tree object
// for that content.
func (r *Repo) Tree(ctx context.Context, state series.State) (string, error) {
	if err := r.empty(); err != nil {
		return "", err
	}
	paths := make([]string, 0, len(state))
	for path := range state {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	for _, path := range paths {
		c := state[path]
		if c.Absent {
			continue
		}
		mode := os.FileMode(0o644)
		if c.Executable {
			mode = 0o755
		}
		full := filepath.Join(r.dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(full, c.Data, mode); err != nil {
			return "", err
		}
	}
	if _, err := r.Git(ctx, "add", "--all", "--force", "."); err != nil {
		return "", err
	}
	out, err := r.Git(ctx, "write-tree")
	return strings.TrimSpace(string(out)), err
}

// empty removes everything except the repository itself from the work tree.
func (r *Repo) empty() error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(r.dir, e.Name())))
		}
	}
	return err
}

// Commit writes a state into the work tree and commits it on the current branch.
func (r *Repo) Commit(ctx context.Context, state series.State, message string) (string, error) {
	if _, err := r.Tree(ctx, state); err != nil {
		return "", err
	}
	if _, err := r.gitIn(ctx, r.dir, []byte(message), "commit", "--quiet", "--allow-empty", "--allow-empty-message", "--no-verify", "--cleanup=verbatim", "--file=-"); err != nil {
		return "", err
	}
	return r.Head(ctx)
}

// Head returns the current commit.
func (r *Repo) Head(ctx context.Context) (string, error) {
	out, err := r.Git(ctx, "rev-parse", "HEAD")
	return strings.TrimSpace(string(out)), err
}

// Orphan switches to a new branch without commits.
func (r *Repo) Orphan(ctx context.Context, name string) error {
	_, err := r.Git(ctx, "symbolic-ref", "HEAD", "refs/heads/"+name)
	return err
}

// Diff returns the difference of two states in the canonical form of patches. The diff has no index
// lines, because the hashes in them would change with every earlier patch.
func (r *Repo) Diff(ctx context.Context, before, after series.State) ([]byte, error) {
	a, err := r.Tree(ctx, before)
	if err != nil {
		return nil, err
	}
	b, err := r.Tree(ctx, after)
	if err != nil {
		return nil, err
	}
	out, err := r.Git(ctx, "diff-tree", "-p", "-r", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index",
		"--diff-algorithm=histogram", "--indent-heuristic", "--unified=3", "--inter-hunk-context=0",
		"--src-prefix=a/", "--dst-prefix=b/", a, b)
	return dropIndex(out), err
}

// dropIndex removes the lines that begin with "index " from a diff. No line of a hunk begins like
// that, because each of them begins with a space, a plus or minus sign, or a backslash.
func dropIndex(diff []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(diff) {
		if !bytes.HasPrefix(line, []byte("index ")) {
			out.Write(line)
		}
	}
	return out.Bytes()
}

// Am applies mail patches with git am.
func (r *Repo) Am(ctx context.Context, patches [][]byte) error {
	args := []string{"am", "--quiet", "--no-3way", "--no-gpg-sign"}
	for i, raw := range patches {
		name := filepath.Join(r.home, fmt.Sprintf("%04d.patch", i))
		if err := os.WriteFile(name, raw, 0o644); err != nil {
			return err
		}
		args = append(args, name)
	}
	_, err := r.Git(ctx, args...)
	return err
}

// State reads the committed content of paths.
func (r *Repo) State(ctx context.Context, commit string, paths []string) (series.State, error) {
	out, err := r.Git(ctx, "ls-tree", "-r", "-z", commit)
	if err != nil {
		return nil, err
	}
	modes := map[string]string{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if meta, path, ok := strings.Cut(entry, "\t"); ok {
			modes[path] = strings.Fields(meta)[0]
		}
	}
	state := series.State{}
	for _, path := range paths {
		mode, ok := modes[path]
		if !ok {
			state[path] = series.Content{Absent: true}
			continue
		}
		data, err := r.Git(ctx, "cat-file", "blob", commit+":"+path)
		if err != nil {
			return nil, err
		}
		state[path] = series.Content{Data: data, Executable: mode == "100755"}
	}
	return state, nil
}

// RangeDiff compares two ranges of commits.
func (r *Repo) RangeDiff(ctx context.Context, color bool, old, new string) ([]byte, error) {
	flag := "--no-color"
	if color {
		flag = "--color"
	}
	return r.Git(ctx, "range-diff", flag, old, new)
}
