// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package project finds a kube-granular checkout and the paths of its files.
//
// All other packages of the tool get their paths from this package. Invariant: a tree path is relative to the
// project's root, and its elements are separated by slashes.
package project

import (
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

// Apart begins a comment line, which may go on with the reason. A module with such a line in its go.mod is not in
// go.work: it is built with released modules, and not with the patched tree. A module in go.work must not require
// newer modules than upstream does, because kube-apiserver would be built with them.
const Apart = "// Apart from go.work"

// Modules returns the folders of the project's own modules in the form of go.work, with the root
// as the first one. A module is a folder with a go.mod that does not contain a line that begins with Apart.
// Modules does not look into hidden folders, testdata folders and the patched tree.
func (p Project) Modules() ([]string, error) {
	var out []string
	err := filepath.WalkDir(p.Root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(p.Root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch name := entry.Name(); {
		case entry.IsDir() && rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || rel+"/" == Upstream):
			return fs.SkipDir
		case rel == "go.mod":
			out = append(out, ".")
		case name == "go.mod":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool { return strings.HasPrefix(line, Apart) }) {
				return nil
			}
			out = append(out, "./"+strings.TrimSuffix(rel, "/go.mod"))
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}

// Path returns the path in the file system of a tree path.
func (p Project) Path(tree string) string {
	return filepath.Join(p.Root, filepath.FromSlash(tree))
}

// Read returns the content of the file at a tree path.
func (p Project) Read(tree string) ([]byte, error) {
	return os.ReadFile(p.Path(tree))
}

// Copy copies the project into another folder, without build output and hidden folders. It removes other files
// from that folder, but keeps a patched tree in it.
func (p Project) Copy(target string) error {
	entries, err := os.ReadDir(target)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name()+"/" != Upstream && e.Name() != WorkSum && e.Name() != Work {
			if err := os.RemoveAll(filepath.Join(target, e.Name())); err != nil {
				return err
			}
		}
	}
	return filepath.WalkDir(p.Root, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(p.Root, path)
		if err := errors.Join(err, relErr); err != nil || rel == "." {
			return err
		}
		switch slash := filepath.ToSlash(rel); {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || slash+"/" == Upstream || slash == "bin"):
			return fs.SkipDir
		case d.IsDir() || !d.Type().IsRegular() || slash == Work || slash == WorkSum:
			return nil
		}
		data, err := os.ReadFile(path)
		full := filepath.Join(target, rel)
		return errors.Join(err, os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, data, 0o644))
	})
}
