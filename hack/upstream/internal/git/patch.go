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
	"regexp"
	"strings"
)

// Apply applies a patch, whose paths are relative to the folder dir, to a tree, and returns the new tree. It
// fails unless every line of every hunk is exactly at the line number in the patch: git itself would look
// for it elsewhere.
func (r *Repo) Apply(ctx context.Context, tree, dir string, patch []byte) (string, error) {
	if r.in != tree {
		if _, _, err := r.run(ctx, r.scratch, nil, "read-tree", tree); err != nil {
			return "", err
		}
	}
	r.in = ""
	_, said, err := r.run(ctx, r.scratch, patch, "apply", "--cached", "--verbose", "--whitespace=nowarn", "--directory="+dir)
	if err == nil && (strings.Contains(said, "offset ") || strings.Contains(said, "Context reduced")) {
		err = errors.New("git apply: " + strings.TrimSpace(said))
	}
	if err != nil {
		return "", err
	}
	out, _, err := r.run(ctx, r.scratch, nil, "write-tree")
	r.in = strings.TrimSpace(out)
	return r.in, err
}

// indexLine matches lines with hashes, which would change with every earlier patch. No line of a hunk begins like that.
var indexLine = regexp.MustCompile(`(?m)^index .*\n`)

// Diff returns the difference of two trees below a folder in the canonical form of patches.
func (r *Repo) Diff(ctx context.Context, before, after, dir string) ([]byte, error) {
	out, _, err := r.run(ctx, r.index, nil, "diff-tree", "-p", "-r", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index",
		"--diff-algorithm=histogram", "--indent-heuristic", "--unified=3", "--inter-hunk-context=0",
		"--src-prefix=a/", "--dst-prefix=b/", "--relative="+dir, before, after)
	return indexLine.ReplaceAll([]byte(out), nil), err
}

// Changed returns the numbers of added and removed lines between two trees, by path.
func (r *Repo) Changed(ctx context.Context, before, after string, paths []string) (map[string]int, error) {
	entries, err := r.entries(ctx, append([]string{"diff-tree", "-r", "-z", "--no-renames", "--numstat", before, after, "--"}, paths...)...)
	counts := map[string]int{}
	for _, entry := range entries {
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

// Merge merges, with three ways, the change from base to theirs into ours. It returns the new tree, in which
// files with conflicts have conflict markers, and the paths of these files.
func (r *Repo) Merge(ctx context.Context, base, ours, theirs string) (tree string, conflicts []string, err error) {
	var commits []string
	for i, tree := range []string{base, ours, theirs} {
		commit, err := r.Commit(ctx, tree, "merge\n", commits[:min(i, 1)]...)
		if err != nil {
			return "", nil, err
		}
		commits = append(commits, commit)
	}
	all, err := r.entries(ctx, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", commits[1], commits[2])
	if len(all) == 0 || err != nil && len(all) < 2 {
		return "", nil, errors.Join(err, errors.New("git merge-tree: no answer: git 2.38 or later is needed"))
	}
	return all[0], all[1:], nil
}

// Am applies mail patches to a tree with git am, in a work tree of its own, and returns the tree of the result.
func (r *Repo) Am(ctx context.Context, base, dir string, mails [][]byte) (tree string, err error) {
	commit, err := r.Commit(ctx, base, "pristine\n")
	if err != nil {
		return "", err
	}
	home, err := os.MkdirTemp(r.dir, "am-")
	if err != nil {
		return "", err
	}
	defer func() {
		_, prune := r.Git(ctx, "worktree", "remove", "--force", home)
		err = errors.Join(err, prune)
	}()
	if _, err := r.Git(ctx, "worktree", "add", "--quiet", "--detach", "--no-checkout", home, commit); err != nil {
		return "", err
	}
	own := filepath.Join(r.dir, "worktrees", filepath.Base(home))
	w := &Repo{dir: own, work: home, index: filepath.Join(own, "index")}
	if _, err := w.Git(ctx, "reset", "--quiet", "--hard"); err != nil {
		return "", err
	}
	args := []string{"am", "--quiet", "--no-3way", "--no-gpg-sign", "--directory=" + dir}
	if _, _, err := w.run(ctx, w.index, bytes.Join(mails, nil), args...); err != nil {
		return "", err
	}
	return w.Git(ctx, "rev-parse", "HEAD^{tree}")
}
