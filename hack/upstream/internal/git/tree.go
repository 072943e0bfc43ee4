// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Empty is the tree without files.
const Empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Entry is a file of a tree. The zero Entry is no file.
type Entry struct {
	Mode string `json:"m,omitempty"`
	ID   string `json:"id,omitempty"`
}

// Executable returns the mode of a file.
func Executable(yes bool) string {
	if yes {
		return "100755"
	}
	return "100644"
}

// List returns the files of a tree that are in folders (not below them), or all files without folders.
func (r *Repo) List(ctx context.Context, tree string, dirs ...string) (map[string]Entry, error) {
	if len(dirs) == 0 {
		return r.list(ctx, "-r", tree)
	}
	args := []string{tree, "--"}
	for _, dir := range dirs {
		args = append(args, dir+"/")
	}
	return r.list(ctx, args...)
}

func (r *Repo) list(ctx context.Context, args ...string) (map[string]Entry, error) {
	out, _, err := r.run(ctx, r.index, nil, append([]string{"ls-tree", "-z", "--full-tree"}, args...)...)
	files := map[string]Entry{}
	for _, line := range lines(out) {
		if meta, path, _ := strings.Cut(line, "\t"); strings.Contains(meta, " blob ") {
			f := strings.Fields(meta)
			files[path] = Entry{Mode: f[0], ID: f[2]}
		}
	}
	return files, err
}

// Entries returns the entries of paths in a tree. A path without a file has no entry.
func (r *Repo) Entries(ctx context.Context, tree string, paths []string) (map[string]Entry, error) {
	if len(paths) == 0 || len(paths) > 1000 {
		return r.List(ctx, tree)
	}
	return r.list(ctx, append([]string{tree, "--"}, paths...)...)
}

// Read returns the content of files of a tree. A path without a file has no content.
func (r *Repo) Read(ctx context.Context, tree string, paths []string) (map[string][]byte, error) {
	var ask strings.Builder
	for _, path := range paths {
		fmt.Fprintf(&ask, "%s:%s\n", tree, path)
	}
	out, _, err := r.run(ctx, r.index, []byte(ask.String()), "cat-file", "--batch")
	files := map[string][]byte{}
	for _, path := range paths {
		head, rest, _ := strings.Cut(out, "\n")
		if f := strings.Fields(head); len(f) == 3 && f[1] == "blob" {
			n, _ := strconv.Atoi(f[2])
			files[path], rest = []byte(rest[:n]), rest[n+1:]
		}
		out = rest
	}
	return files, err
}

// Store writes contents into the repository, and returns their IDs.
func (r *Repo) Store(ctx context.Context, contents map[string][]byte) (map[string]string, error) {
	dir, err := os.MkdirTemp(r.dir, "store-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var names bytes.Buffer
	paths := slices.Sorted(maps.Keys(contents))
	for i, path := range paths {
		name := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(name, contents[path], 0o644); err != nil {
			return nil, err
		}
		fmt.Fprintln(&names, name)
	}
	out, _, err := r.run(ctx, r.index, names.Bytes(), "hash-object", "-w", "--no-filters", "--stdin-paths")
	ids := map[string]string{}
	for i, id := range strings.Fields(out) {
		ids[paths[i]] = id
	}
	return ids, err
}

// hold makes sure that the scratch index holds a tree.
func (r *Repo) hold(ctx context.Context, tree string) error {
	if r.in == tree {
		return nil
	}
	_, _, err := r.run(ctx, r.scratch, nil, "read-tree", tree)
	return err
}

// held writes the tree of the scratch index.
func (r *Repo) held(ctx context.Context) (string, error) {
	out, _, err := r.run(ctx, r.scratch, nil, "write-tree")
	r.in = strings.TrimSpace(out)
	return r.in, err
}

// Edit returns a tree with other entries. The zero Entry removes a file.
func (r *Repo) Edit(ctx context.Context, tree string, entries map[string]Entry) (string, error) {
	if len(entries) == 0 {
		return tree, nil
	}
	if err := r.hold(ctx, tree); err != nil {
		return "", err
	}
	r.in = ""
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(entries)) {
		e := entries[path]
		if e.ID == "" {
			e = Entry{"0", strings.Repeat("0", 40)}
		}
		fmt.Fprintf(&b, "%s %s\t%s\x00", e.Mode, e.ID, path)
	}
	if _, _, err := r.run(ctx, r.scratch, []byte(b.String()), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return r.held(ctx)
}

// Write returns a tree with other contents of files, which keep their modes. New files are not executable.
func (r *Repo) Write(ctx context.Context, tree string, contents map[string][]byte) (string, error) {
	if len(contents) == 0 {
		return tree, nil
	}
	ids, err := r.Store(ctx, contents)
	if err != nil {
		return "", err
	}
	have, err := r.Entries(ctx, tree, slices.Collect(maps.Keys(contents)))
	if err != nil {
		return "", err
	}
	entries := map[string]Entry{}
	for path, id := range ids {
		entries[path] = Entry{Mode: Executable(have[path].Mode == "100755"), ID: id}
	}
	return r.Edit(ctx, tree, entries)
}

// Blob returns the content with an ID. That of Gone is empty.
func (r *Repo) Blob(ctx context.Context, id string) ([]byte, error) {
	if id == Gone {
		return nil, nil
	}
	out, _, err := r.run(ctx, r.index, nil, "cat-file", "blob", id)
	return []byte(out), err
}
