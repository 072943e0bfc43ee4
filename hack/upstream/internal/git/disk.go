// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// New reports whether no run has written files of the tree with this repository so far.
func (r *Repo) New() bool {
	_, err := os.Stat(r.index)
	return err != nil
}

// Snapshot returns the tree of the files on disk. Stray files that the index does not have are not in it.
func (r *Repo) Snapshot(ctx context.Context) (string, error) {
	_, _ = r.Git(ctx, "update-index", "-q", "--refresh") // it fails if a file is edited
	edited, _, err := r.run(ctx, r.index, nil, "diff-files", "-z", "--name-only")
	if err != nil {
		return "", err
	}
	added, _, err := r.run(ctx, r.index, nil, append([]string{"ls-files", "-z", "--others",
		"--exclude-from=" + filepath.Join(r.dir, "info", "strays"), "--"}, r.roots...)...)
	if err != nil {
		return "", err
	}
	if edited+added != "" {
		if _, _, err := r.run(ctx, r.index, []byte(edited+added), "update-index", "-z", "--add", "--remove", "--stdin"); err != nil {
			return "", err
		}
	}
	return r.Git(ctx, "write-tree")
}

// Checkout changes the files on disk, which are those of the snapshot now, to those of a tree.
func (r *Repo) Checkout(ctx context.Context, now, tree string) error {
	_, err := r.Git(ctx, "read-tree", "-m", "-u", now, tree)
	return err
}

// Gone is the ID of a file that does not exist.
const Gone = "-"

// Change is a file that differs between two trees. Was and Is are its IDs, or Gone, and Mode is its mode in
// the second tree, or 0.
type Change struct{ Path, Was, Is, Mode string }

// Kind returns the kind of a change, for messages.
func (c Change) Kind() string {
	switch Gone {
	case c.Is:
		return "removed"
	case c.Was:
		return "added"
	}
	return "edited"
}

// Entry returns the entry of the file in the second tree.
func (c Change) Entry() Entry {
	if c.Is == Gone {
		return Entry{}
	}
	return Entry{Mode: c.Mode, ID: c.Is}
}

// Changes returns the files whose content differs between two trees, in the order of their paths. Paths
// limit them.
func (r *Repo) Changes(ctx context.Context, before, after string, paths ...string) ([]Change, error) {
	args := append([]string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after, "--"}, paths...)
	entries, err := r.entries(ctx, args...)
	var all []Change
	for ; len(entries) > 1; entries = entries[2:] {
		none := strings.NewReplacer(strings.Repeat("0", 40), Gone)
		f := strings.Fields(none.Replace(entries[0])) // :mode mode id id status
		if f[2] != f[3] {                             // or the mode alone differs
			all = append(all, Change{Path: entries[1], Was: f[2], Is: f[3], Mode: f[1]})
		}
	}
	return all, err
}
