// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Empty is the tree without files.
const Empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Entry is a file of a tree. The zero Entry is no file. Data is the content of a file that has no ID yet.
type Entry struct {
	Mode string `json:"m,omitempty"`
	ID   string `json:"id,omitempty"`
	Data []byte `json:"-"`
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
	lines, err := r.entries(ctx, append([]string{"ls-tree", "-z", "--full-tree"}, args...)...)
	files := map[string]Entry{}
	for _, line := range lines {
		if meta, path, _ := strings.Cut(line, "\t"); strings.Contains(meta, " blob ") {
			f := strings.Fields(meta)
			files[path] = Entry{Mode: f[0], ID: f[2]}
		}
	}
	return files, err
}

// Entries returns the entries of paths in a tree. A path without a file has no entry.
func (r *Repo) Entries(ctx context.Context, tree string, paths []string) (map[string]Entry, error) {
	args := []string{"-r", tree, "--"}
	if len(paths) < 1000 { // more may not fit into a command line
		args = append(args, paths...)
	}
	all, err := r.list(ctx, args...)
	files := map[string]Entry{}
	for _, path := range paths {
		if e, ok := all[path]; ok {
			files[path] = e
		}
	}
	return files, err
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

// Blob returns the content with an ID. That of Gone is empty.
func (r *Repo) Blob(ctx context.Context, id string) ([]byte, error) {
	if id == Gone {
		return nil, nil
	}
	out, _, err := r.run(ctx, r.index, nil, "cat-file", "blob", id)
	return []byte(out), err
}

// Import returns a tree with other files, without writing them to disk. fill sets them; the zero Entry removes a file.
func (r *Repo) Import(ctx context.Context, tree string, fill func(set func(path string, e Entry)) error) (string, error) {
	cmd := r.command(ctx, r.index, "fast-import", "--quiet", "--force", "--depth=0")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", err
	}
	out := bufio.NewWriterSize(pipe, 1<<20)
	fmt.Fprintf(out, "commit refs/import\ncommitter import <import> 1000684800 +0000\ndata 0\nM 040000 %s \"\"\n", tree)
	if err := fill(func(path string, e Entry) {
		switch {
		case e.Mode == "":
			fmt.Fprintf(out, "D %s\n", path)
		case e.ID != "":
			fmt.Fprintf(out, "M %s %s %s\n", e.Mode, e.ID, path)
		default:
			fmt.Fprintf(out, "M %s inline %s\ndata %d\n%s\n", e.Mode, path, len(e.Data), e.Data)
		}
	}); err != nil {
		_, _ = cmd.Process.Kill(), cmd.Wait()
		return "", err
	}
	_, err = out.WriteString("ls \"\"\n") // prints: mode tree ID
	err = errors.Join(err, out.Flush(), pipe.Close(), cmd.Wait())
	f := strings.Fields(stdout.String())
	if err != nil || len(f) != 3 {
		return "", fmt.Errorf("git fast-import: %v: %s", err, strings.TrimSpace(stderr.String()))
	}
	return f[2], nil
}

// Edit returns a tree with other entries. The zero Entry removes a file.
func (r *Repo) Edit(ctx context.Context, tree string, entries map[string]Entry) (string, error) {
	if len(entries) == 0 {
		return tree, nil
	}
	return r.Import(ctx, tree, func(set func(string, Entry)) error {
		for _, path := range slices.Sorted(maps.Keys(entries)) {
			set(path, entries[path])
		}
		return nil
	})
}

// Write returns a tree with other contents of files, which keep their modes. New files are not executable.
func (r *Repo) Write(ctx context.Context, tree string, contents map[string][]byte) (string, error) {
	entries, err := r.Entries(ctx, tree, slices.Collect(maps.Keys(contents)))
	if err != nil {
		return "", err
	}
	for path, data := range contents {
		entries[path] = Entry{Mode: Executable(entries[path].Mode == "100755"), Data: data}
	}
	return r.Edit(ctx, tree, entries)
}
