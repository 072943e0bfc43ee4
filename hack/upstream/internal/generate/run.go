// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/golang"
	"kube-granular.dev/hack/upstream/internal/project"
)

// Env is the environment of a generator.
type Env struct {
	Go      *golang.Go
	Project project.Project
	// Files are all files of the tree, as paths relative to Kubernetes' root.
	Files []string
}

// build builds a program of the tree in a workspace.
func (e Env) build(ctx context.Context, name, dir, workspace, pkg string) (string, error) {
	out := e.Project.Path(project.Tools + "/" + name)
	return out, e.Go.Build(ctx, e.Project.Path(dir), e.Project.Path(workspace), "-o", out, pkg)
}

// kubernetes builds a program of Kubernetes in the project's workspace.
func (e Env) kubernetes(ctx context.Context, name, pkg string) (string, error) {
	return e.build(ctx, name, project.Kubernetes, project.Work, pkg)
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
	sources := e.sources()
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
func (e Env) sources() (files []string) {
	var apart []string // modules with their own workspace run their own generators
	for _, file := range e.Files {
		if path.Base(file) == "go.work" {
			apart = append(apart, path.Dir(file)+"/")
		}
	}
	for _, file := range e.Files {
		if strings.HasSuffix(file, ".go") && !hidden("/"+file) && !below(apart, file) {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files
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
