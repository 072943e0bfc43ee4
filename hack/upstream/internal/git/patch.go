// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Apply applies a patch, whose paths are relative to the folder dir, to a tree, and returns the new tree. It
// fails unless every line of every hunk is exactly at the line number in the patch: git itself would look
// for it elsewhere.
func (r *Repo) Apply(ctx context.Context, tree, dir string, patch []byte) (string, error) {
	if err := r.hold(ctx, tree); err != nil {
		return "", err
	}
	r.in = ""
	_, said, err := r.run(ctx, r.scratch, patch, "apply", "--cached", "--verbose", "--whitespace=nowarn", "--directory="+dir)
	if err == nil && (strings.Contains(said, "offset ") || strings.Contains(said, "Context reduced")) {
		err = errors.New("git apply: " + strings.TrimSpace(said))
	}
	if err != nil {
		return "", err
	}
	return r.held(ctx)
}

// Diff returns the difference of two trees below a folder in the canonical form of patches. It has no index
// lines, because the hashes in them would change with every earlier patch.
func (r *Repo) Diff(ctx context.Context, before, after, dir string) ([]byte, error) {
	out, _, err := r.run(ctx, r.index, nil, "diff-tree", "-p", "-r", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index",
		"--diff-algorithm=histogram", "--indent-heuristic", "--unified=3", "--inter-hunk-context=0",
		"--src-prefix=a/", "--dst-prefix=b/", "--relative="+dir, before, after)
	var diff bytes.Buffer
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "index ") { // no line of a hunk begins like that
			diff.WriteString(line)
		}
	}
	return diff.Bytes(), err
}

// Changed returns the numbers of added and removed lines between two trees, by path.
func (r *Repo) Changed(ctx context.Context, before, after string, paths []string) (map[string]int, error) {
	out, _, err := r.run(ctx, r.index, nil, append([]string{"diff-tree", "-r", "-z", "--no-renames", "--numstat", before, after, "--"}, paths...)...)
	counts := map[string]int{}
	for _, entry := range lines(out) {
		var added, removed int
		f := strings.SplitN(entry, "\t", 3)
		fmt.Sscan(f[0]+" "+f[1], &added, &removed)
		counts[f[2]] = added + removed
	}
	return counts, err
}

// Commit makes a commit of a tree.
func (r *Repo) Commit(ctx context.Context, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, _, err := r.run(ctx, r.index, []byte(message), args...)
	return strings.TrimSpace(out), err
}

// Commits makes a branch with one commit for each tree, and returns its range in the form FROM..TO.
func (r *Repo) Commits(ctx context.Context, trees, messages []string) (string, error) {
	first, err := r.Commit(ctx, trees[0], "pristine\n")
	last := first
	for i, message := range messages {
		if err == nil {
			last, err = r.Commit(ctx, trees[i+1], message, last)
		}
	}
	return first + ".." + last, err
}

// Merge merges, with three ways, the change from base to theirs into ours. It returns the new tree, in which
// files with conflicts have conflict markers, and the paths of these files.
func (r *Repo) Merge(ctx context.Context, base, ours, theirs string) (tree string, conflicts []string, err error) {
	b, err := r.Commit(ctx, base, "base\n")
	if err != nil {
		return "", nil, err
	}
	o, err1 := r.Commit(ctx, ours, "ours\n", b)
	t, err2 := r.Commit(ctx, theirs, "theirs\n", b)
	if err := errors.Join(err1, err2); err != nil {
		return "", nil, err
	}
	out, _, err := r.run(ctx, r.index, nil, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", o, t)
	all := lines(out)
	if len(all) == 0 || err != nil && len(all) < 2 {
		return "", nil, errors.Join(err, errors.New("git merge-tree: no answer: git 2.38 or later is needed"))
	}
	return all[0], all[1:], nil
}

// Am applies mail patches to some files of a tree with git am, in a clone that has only these files, and
// returns the tree of the result.
func (r *Repo) Am(ctx context.Context, base, dir string, mails [][]byte) (tree string, err error) {
	home, err := os.MkdirTemp(r.dir, "am-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	clone := &Repo{dir: filepath.Join(home, ".git"), work: home, index: filepath.Join(home, ".git", "index")}
	if _, err := clone.Git(ctx, "init", "--quiet", "--template=", clone.dir); err != nil {
		return "", err
	}
	objects, info := filepath.Join(r.dir, "objects")+"\n", filepath.Join(clone.dir, "info")
	commit, err := r.Commit(ctx, base, "pristine\n")
	if err = errors.Join(err, os.MkdirAll(info, 0o755), os.WriteFile(filepath.Join(info, "attributes"), []byte(attributes), 0o644),
		os.WriteFile(filepath.Join(clone.dir, "objects", "info", "alternates"), []byte(objects), 0o644)); err != nil {
		return "", err
	}
	if _, err := clone.Git(ctx, "reset", "--quiet", "--hard", commit); err != nil {
		return "", err
	}
	args := []string{"am", "--quiet", "--no-3way", "--no-gpg-sign", "--directory=" + dir}
	for i, mail := range mails {
		name := filepath.Join(clone.dir, fmt.Sprintf("%04d.patch", i))
		if err := os.WriteFile(name, mail, 0o644); err != nil {
			return "", err
		}
		args = append(args, name)
	}
	if _, err := clone.Git(ctx, args...); err != nil {
		return "", err
	}
	return clone.Git(ctx, "rev-parse", "HEAD^{tree}")
}
