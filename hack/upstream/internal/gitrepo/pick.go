// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kube-granular.dev/hack/upstream/internal/series"
)

// Pick replays a commit onto the current commit by a three-way merge. It returns the paths of
// files with conflicts. If there are no conflicts, Pick has made the commit. If there are
// conflicts, the files contain conflict markers, and the caller must call Settle to make the
// commit.
func (r *Repo) Pick(ctx context.Context, commit string) ([]string, error) {
	_, pickErr := r.Git(ctx, "-c", "merge.conflictStyle=diff3", "cherry-pick", "--allow-empty", "--keep-redundant-commits", "--strategy=ort", "-Xno-renames", "-Xdiff-algorithm=histogram", commit)
	if pickErr == nil {
		return nil, nil
	}
	out, err := r.Git(ctx, "diff", "--name-only", "--diff-filter=U", "-z")
	if err != nil {
		return nil, err
	}
	if names := strings.TrimRight(string(out), "\x00"); names != "" {
		return strings.Split(names, "\x00"), nil
	}
	return nil, pickErr
}

// Conflicted reads a file of the work tree that has a conflict. The content is absent if one
// side removed the file and git did not restore it.
func (r *Repo) Conflicted(path string) (series.Content, error) {
	data, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(path)))
	if errors.Is(err, fs.ErrNotExist) {
		return series.Content{Absent: true}, nil
	}
	return series.Content{Data: data}, err
}

// Settle makes the commit after a Pick with conflicts. contents has the content of each path with a
// conflict.
func (r *Repo) Settle(ctx context.Context, contents series.State) error {
	for path, c := range contents {
		full := filepath.Join(r.dir, filepath.FromSlash(path))
		if c.Absent {
			if err := os.Remove(full); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		mode := os.FileMode(0o644)
		if c.Executable {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, c.Data, mode); err != nil {
			return err
		}
	}
	if _, err := r.Git(ctx, "add", "--all", "--force", "."); err != nil {
		return err
	}
	_, err := r.Git(ctx, "commit", "--quiet", "--allow-empty", "--no-verify", "--message=settled")
	return err
}

// Changed returns the number of added and removed lines between two states, by path.
func (r *Repo) Changed(ctx context.Context, before, after series.State) (map[string]int, error) {
	a, err := r.Tree(ctx, before)
	if err != nil {
		return nil, err
	}
	b, err := r.Tree(ctx, after)
	if err != nil {
		return nil, err
	}
	out, err := r.Git(ctx, "diff-tree", "-r", "-z", "--no-renames", "--numstat", a, b)
	if err != nil {
		return nil, err
	}
	lines := map[string]int{}
	for entry := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		var added, removed int
		counts, path, ok := cutLast(entry)
		if ok {
			fmt.Sscan(counts, &added, &removed)
			lines[path] = added + removed
		}
	}
	return lines, nil
}

// cutLast splits a line of numstat at its last tab.
func cutLast(s string) (counts, path string, ok bool) {
	i := strings.LastIndex(s, "\t")
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}
