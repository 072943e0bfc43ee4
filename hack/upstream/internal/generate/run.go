// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"
)

// Run runs a generator on the tree on disk. If the generator fails, Run gives the output files that
// existed before their old content. New files that it wrote before it failed stay.
func (g Generator) Run(ctx context.Context, e Env) (err error) {
	if err := e.mkdirs(); err != nil {
		return err
	}
	sources, err := e.sources()
	if err != nil {
		return err
	}
	dirs, err := g.dirs(e, sources)
	if err != nil {
		return err
	}
	if len(dirs) == 0 {
		return fmt.Errorf("%s: no directory of the tree is its input", g.Name)
	}
	saved := map[string]output{}
	for _, file := range sources {
		if g.Output(file) {
			if saved[file], err = read(e.path(file)); err != nil {
				return err
			}
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", g.Name, err), restore(e, saved))
		}
	}()
	for file := range saved {
		if g.Clear(file) && (!g.Beside || slices.Contains(dirs, path.Dir(file))) {
			if err := os.Remove(e.path(file)); err != nil {
				return err
			}
		}
	}
	return g.run(ctx, e, dirs)
}

// output is the content and the modification time of a generated file before the generator runs.
type output struct {
	data []byte
	time time.Time
}

func read(path string) (output, error) {
	info, err := os.Stat(path)
	if err != nil {
		return output{}, err
	}
	data, err := os.ReadFile(path)
	return output{data: data, time: info.ModTime()}, err
}

// restore restores the saved files and their times, so that they do not look changed.
func restore(e Env, saved map[string]output) error {
	var errs []error
	for file, was := range saved {
		path := e.path(file)
		if now, err := os.ReadFile(path); err != nil || !slices.Equal(now, was.data) {
			errs = append(errs, os.WriteFile(path, was.data, 0o644))
		}
		errs = append(errs, os.Chtimes(path, was.time, was.time))
	}
	return errors.Join(errs...)
}

// sources returns all Go files of the tree that a generator may read or write.
func (e Env) sources() ([]string, error) {
	var files []string
	root := e.dir()
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			// Modules with their own workspace run their own generators.
			_, err := os.Stat(filepath.Join(at, "go.work"))
			if d.Name() == ".git" || d.Name() == "_output" || rel != "." && err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(rel, ".go") && d.Type().IsRegular() && !hidden("/"+rel) {
			files = append(files, rel)
		}
		return nil
	})
	sort.Strings(files)
	return files, err
}

// dirs returns the directories of the tree that are the input of a generator.
func (g Generator) dirs(e Env, sources []string) ([]string, error) {
	seen := map[string]bool{}
	for _, file := range sources {
		dir := path.Dir(file)
		if seen[dir] || slices.ContainsFunc(g.Except, func(p string) bool { return strings.HasPrefix(file, p) }) {
			continue
		}
		if g.Tag == nil {
			// As in upstream's script, an API directory is one with a file types.go.
			seen[dir] = strings.HasPrefix(file, stagingAPI) && path.Base(file) == "types.go" || dir+"/" == metaV1
			continue
		}
		if len(g.Under) > 0 && !slices.ContainsFunc(g.Under, func(p string) bool { return strings.HasPrefix(file, p) }) {
			continue
		}
		data, err := os.ReadFile(e.path(file))
		if err != nil {
			return nil, err
		}
		seen[dir] = tagged(g.Tag, data)
	}
	var dirs []string
	for dir, ok := range seen {
		if ok {
			dirs = append(dirs, dir)
		}
	}
	sort.Strings(dirs)
	return dirs, nil
}
