// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package project finds a kube-granular checkout and the paths of its files.
//
// All other packages of the tool get their paths from this package. Invariant: a tree path is relative to the
// project's root, and its elements are separated by slashes.
package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Module is the module path of the project's root.
const Module = "kube-granular.dev"

// The tree paths (paths relative to the project's root) of the patched Kubernetes tree and of the
// other files that the tool writes.
const (
	Upstream   = "upstream/"
	Kubernetes = "upstream/kubernetes/"
	Generators = "upstream/generators/"
	Manifest   = "upstream/manifest.json"
	Scratch    = "upstream/.scratch"
	Tools      = "upstream/.bin"
	Repo       = "upstream/.repo"
	Rebase     = "upstream/.rebase"
	Work       = "go.work"
	WorkSum    = "go.work.sum"

	GeneratorsWork    = Generators + "go.work"
	GeneratorsWorkSum = Generators + "go.work.sum"
)

// Project is one checkout.
type Project struct {
	// Root is the absolute path of the folder that holds go.mod.
	Root string
}

// Find returns the project whose go.mod is the nearest one at or above dir.
func Find(dir string) (Project, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Project{}, err
	}
	for folder := abs; ; folder = filepath.Dir(folder) {
		data, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err == nil && modfile.ModulePath(data) == Module {
			return Project{Root: folder}, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Project{}, err
		}
		if folder == filepath.Dir(folder) {
			return Project{}, fmt.Errorf("no go.mod of module %s at or above %s: name the project's folder with --root", Module, dir)
		}
	}
}

// Path returns the path in the file system of a tree path.
func (p Project) Path(tree string) string { return filepath.Join(p.Root, filepath.FromSlash(tree)) }

// Read returns the content of the file at a tree path.
func (p Project) Read(tree string) ([]byte, error) { return os.ReadFile(p.Path(tree)) }

// Write writes the file at a tree path, in a folder that may not exist yet.
func (p Project) Write(tree string, data []byte) error {
	return errors.Join(os.MkdirAll(filepath.Dir(p.Path(tree)), 0o755), os.WriteFile(p.Path(tree), data, 0o644))
}

// walk calls do with the tree paths of the project's files. It does not look into hidden folders and the patched tree.
func (p Project) walk(do func(tree string) error) error {
	return filepath.WalkDir(p.Root, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(p.Root, path)
		tree := filepath.ToSlash(rel)
		switch err := errors.Join(err, relErr); {
		case err != nil:
			return err
		case d.IsDir() && tree != "." && (strings.HasPrefix(d.Name(), ".") || tree+"/" == Upstream):
			return fs.SkipDir
		case d.Type().IsRegular():
			return do(tree)
		}
		return nil
	})
}

// Apart begins a comment line, which may go on with the reason. A module with such a line in its go.mod is not in
// go.work: it is built with released modules, and not with the patched tree. A module in go.work must not require
// newer modules than upstream does, because kube-apiserver would be built with them.
const Apart = "// Apart from go.work"

// Modules returns the folders of the project's own modules in the form of go.work, with the root
// as the first one. A module is a folder with a go.mod that does not contain a line that begins with Apart.
// Modules leaves out testdata folders.
func (p Project) Modules() (modules []string, err error) {
	err = p.walk(func(tree string) error {
		dir, ok := strings.CutSuffix("./"+tree, "/go.mod")
		if !ok || strings.Contains(dir+"/", "/testdata/") {
			return nil
		}
		text, err := p.Read(tree)
		if dir == "." || !bytes.Contains(append([]byte("\n"), text...), []byte("\n"+Apart)) {
			modules = append(modules, dir)
		}
		return err
	})
	slices.Sort(modules)
	return modules, err
}

// Copy copies the project into another folder, without build output and hidden folders. It removes other files
// from that folder, but keeps a patched tree in it.
func (p Project) Copy(target Project) error {
	entries, err := os.ReadDir(target.Root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name()+"/" != Upstream && e.Name() != WorkSum && e.Name() != Work {
			if err := os.RemoveAll(target.Path(e.Name())); err != nil {
				return err
			}
		}
	}
	return p.walk(func(tree string) error {
		if tree == Work || tree == WorkSum || strings.HasPrefix(tree, "bin/") {
			return nil
		}
		data, err := p.Read(tree)
		return errors.Join(err, target.Write(tree, data))
	})
}
