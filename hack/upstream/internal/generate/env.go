// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"os"
	"path/filepath"

	"kube-granular.dev/hack/upstream/internal/golang"
	"kube-granular.dev/hack/upstream/internal/project"
)

// Env is the environment of a generator.
type Env struct {
	Go      *golang.Go
	Project project.Project
	// Scratch is a folder for temporary files.
	Scratch string
}

// build builds a program of the tree in the project's workspace.
func (e Env) build(ctx context.Context, name, pkg string) (string, error) {
	out := e.tool(name)
	return out, e.Go.Build(ctx, e.dir(), e.workspace(), pkg, out)
}

// buildPatched builds a program of the patched generators in their workspace.
func (e Env) buildPatched(ctx context.Context, name, pkg string) (string, error) {
	out := e.tool(name)
	return out, e.Go.Build(ctx, e.Project.Path(project.Generators), e.Project.Path(project.GeneratorsWork), pkg, out)
}

func (e Env) exec(ctx context.Context, program string, args ...string) ([]byte, error) {
	return e.Go.Exec(ctx, e.dir(), e.workspace(), program, args...)
}

// execInto runs a program, writes its output into a scratch file and returns the path of the file.
func (e Env) execInto(ctx context.Context, name, program string, args ...string) (string, error) {
	data, err := e.exec(ctx, program, args...)
	if err != nil {
		return "", err
	}
	path := filepath.Join(e.Scratch, name)
	return path, os.WriteFile(path, data, 0o644)
}

func (e Env) tool(name string) string { return filepath.Join(e.Project.Path(project.Tools), name) }
func (e Env) dir() string             { return e.Project.Path(project.Kubernetes) }
func (e Env) workspace() string       { return e.Project.Path(project.Work) }
func (e Env) path(file string) string { return e.Project.Path(project.Kubernetes + file) }
func (e Env) mkdirs() error {
	for _, dir := range []string{e.Scratch, e.Project.Path(project.Tools)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}
