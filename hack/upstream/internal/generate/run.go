// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/golang"
	"kube-granular.dev/hack/upstream/internal/project"
)

// Env is the environment of a generator.
type Env struct {
	Go      *golang.Go
	Project project.Project
}

// build builds a program of the tree in a workspace.
func (e Env) build(ctx context.Context, name, dir, workspace, pkg string) (string, error) {
	out := e.Project.Path(project.Tools + "/" + name)
	return out, e.Go.Build(ctx, e.Project.Path(dir), e.Project.Path(workspace), "-o", out, pkg)
}

func (e Env) exec(ctx context.Context, program string, args ...string) ([]byte, error) {
	return e.Go.Exec(ctx, e.path(""), e.Project.Path(project.Work), program, args...)
}

func (e Env) path(file string) string    { return e.Project.Path(project.Kubernetes + file) }
func (e Env) scratch(name string) string { return e.Project.Path(project.Scratch + "/" + name) }

// Run runs a generator on the tree on disk. What it wrote before it failed stays.
func (g Generator) Run(ctx context.Context, e Env) error {
	if err := errors.Join(os.MkdirAll(e.scratch(""), 0o755), os.MkdirAll(e.Project.Path(project.Tools), 0o755)); err != nil {
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
	for _, file := range sources {
		if g.Clear != nil && g.Clear(file, dirs) {
			err = errors.Join(err, os.Remove(e.path(file)))
		}
	}
	if err = errors.Join(err, g.run(ctx, e, dirs)); err != nil {
		return fmt.Errorf("%s: %w", g.Name, err)
	}
	return nil
}

// sources returns all Go files of the tree that a generator may read or write, in order.
func (e Env) sources() (files []string, err error) {
	root := e.path("")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			// Modules with their own workspace run their own generators.
			if _, err := os.Stat(filepath.Join(path, "go.work")); d.Name() == ".git" || d.Name() == "_output" || rel != "." && err == nil {
				return fs.SkipDir
			}
		} else if strings.HasSuffix(rel, ".go") && d.Type().IsRegular() && !hidden("/"+rel) {
			files = append(files, rel)
		}
		return err
	})
	slices.Sort(files)
	return files, err
}

// dirs returns the directories of the tree that are the input of a generator.
func (g Generator) dirs(e Env, sources []string) ([]string, error) {
	seen := map[string]bool{}
	for _, file := range sources {
		switch dir := path.Dir(file); {
		case seen[dir] || below(g.Except, file):
		case g.Tag == nil: // as in upstream's script, an API directory is one with a file types.go
			seen[dir] = strings.HasPrefix(file, stagingAPI) && path.Base(file) == "types.go" || dir+"/" == metaV1
		case len(g.Under) == 0 || below(g.Under, file):
			data, err := os.ReadFile(e.path(file))
			if err != nil {
				return nil, err
			}
			seen[dir] = tagged(g.Tag, data)
		}
	}
	maps.DeleteFunc(seen, func(_ string, ok bool) bool { return !ok })
	return slices.Sorted(maps.Keys(seen)), nil
}
