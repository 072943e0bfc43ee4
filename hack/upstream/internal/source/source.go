// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source loads one version of upstream, Kubernetes and its staging modules, from the Go module cache
// into the repository of the tree.
//
// Invariant: a file gets into the repository only if its module has the sum that go.sum has or, for the
// generators, the sum in Kubernetes' own go.sum. The package must not write to go.mod, go.sum or the cache.
package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"

	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/golang"
	"kube-granular.dev/hack/upstream/internal/project"
)

// generatorDirs are the folders of the generator modules in the tree.
var generatorDirs = map[string]string{
	"k8s.io/gengo/v2":     project.Generators + "gengo/",
	"k8s.io/kube-openapi": project.Generators + "kube-openapi/",
}

// Module is a module of the tree.
type Module struct {
	module.Version
	// Prefix is the tree path of the module's root, with a slash at its end.
	Prefix string
	// Sum is the sum that the files of the module must have.
	Sum string
	// dir is the module's folder in the module cache.
	dir string
}

// Source is one version of upstream.
type Source struct {
	// Pins are the pins that Open received.
	Pins Pins
	// Go is the version in the go line of Kubernetes' go.mod. Staging are its staging modules.
	Go      string
	Staging []string
	// Modules are all modules of the tree. The first one is Kubernetes itself.
	Modules []*Module
	// Missing has a line for each module that FetchAll could not download, with the reason.
	Missing []string

	gocmd *golang.Go
}

// Open finds the modules of an upstream version. It downloads only Kubernetes itself. It fails if the pins
// disagree with Kubernetes' go.mod, or if the go command is too old.
func Open(ctx context.Context, gocmd *golang.Go, pins Pins) (*Source, error) {
	s := &Source{Pins: pins, gocmd: gocmd}
	if pins.Go != "" {
		if err := gocmd.Require(ctx, pins.Go, "go.mod"); err != nil {
			return nil, err
		}
	}
	root, err := s.add(Kubernetes, pins.Version, project.Kubernetes, pins.sums, "go.sum")
	if err != nil {
		return nil, err
	}
	if err := s.fetch(ctx); err != nil {
		return nil, err
	}
	gomod, err1 := os.ReadFile(filepath.Join(root.dir, "go.mod"))
	gosum, err2 := os.ReadFile(filepath.Join(root.dir, "go.sum"))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	facts, err := readUpstream(gomod)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(gocmd.Require(ctx, facts.Go, root.String()), pins.Agree(facts.Staging)); err != nil {
		return nil, err
	}
	s.Go, s.Staging = facts.Go, facts.Staging
	staging, err := StagingVersion(pins.Version)
	errs := []error{err}
	for _, path := range facts.Staging {
		_, err := s.add(path, staging, project.Kubernetes+strings.TrimPrefix(stagingDir, "./")+path+"/", pins.sums, "go.sum")
		errs = append(errs, err)
	}
	// The sum of Kubernetes covers its go.sum, which has the sums of the generators.
	for _, path := range sorted(generatorDirs) {
		_, err := s.add(path, facts.Generators[path], generatorDirs[path], parseSums(gosum), "go.sum of "+Kubernetes)
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}

func (s *Source) add(path, version, prefix string, sums map[module.Version]string, where string) (*Module, error) {
	m := &Module{Version: module.Version{Path: path, Version: version}, Prefix: prefix}
	s.Modules = append(s.Modules, m)
	if s.Pins.Free() {
		return m, nil
	}
	if m.Sum = sums[m.Version]; m.Sum == "" {
		return m, fmt.Errorf("%s: no sum for %s %s: run GOWORK=off go mod download %s", where, path, version, m)
	}
	return m, nil
}

// fetch downloads the modules into the module cache, once.
func (s *Source) fetch(ctx context.Context) error {
	if err := s.FetchAll(ctx); err != nil || len(s.Missing) == 0 {
		return err
	}
	return &golang.MissingError{Asked: len(s.Modules), Missing: s.Missing}
}

// FetchAll downloads all modules into the module cache at once, and compares the sums that the go command
// reports with the expected ones. It lists those that it can't download in Missing.
func (s *Source) FetchAll(ctx context.Context) error {
	var want []*Module
	var ask []module.Version
	for _, m := range s.Modules {
		if m.dir == "" {
			want, ask = append(want, m), append(ask, m.Version)
		}
	}
	s.Missing = nil
	got, err := s.gocmd.DownloadSome(ctx, ask)
	for i, d := range got {
		m := want[i]
		switch {
		case d.Error != "":
			s.Missing = append(s.Missing, d.Error)
			continue
		case m.Sum != "" && m.Sum != d.Sum:
			return fmt.Errorf("%s: the downloaded module has sum %s, but go.sum has %s", m, d.Sum, m.Sum)
		}
		m.Sum, m.dir = d.Sum, d.Dir
	}
	return err
}

// Lacks returns the module of a tree path, and reports whether that module is missing.
func (s *Source) Lacks(tree string) (string, bool) {
	var best *Module
	for _, m := range s.Modules {
		if strings.HasPrefix(tree, m.Prefix) && (best == nil || len(m.Prefix) > len(best.Prefix)) {
			best = m
		}
	}
	return best.Path, best.dir == ""
}

// Identity returns the modules and their sums, one line each.
func (s *Source) Identity() []string {
	var all []string
	for _, m := range s.Modules {
		all = append(all, fmt.Sprintf("%s %s %s", m.Path, m.Version.Version, m.Sum))
	}
	return all
}

// Tree returns the tree of this version in the repository. If the repository does not have it, Tree
// downloads the modules, compares their files with the expected sums and loads them. A missing module
// becomes an empty one, so that a version can be tried without it.
func (s *Source) Tree(ctx context.Context, repo *git.Repo, say func(string, ...any)) (string, error) {
	if s.Pins.Free() && len(s.Missing) == 0 {
		if err := s.fetch(ctx); err != nil { // the sums are not known before
			return "", err
		}
	}
	ref := fmt.Sprintf("refs/pristine/%x", sha256.Sum256([]byte(strings.Join(s.Identity(), "\n"))))
	if tree, err := repo.Git(ctx, "rev-parse", "--verify", "--quiet", ref+"^{tree}"); err == nil {
		return tree, nil
	}
	say("fetching %d modules of %s %s from the module cache or GOPROXY", len(s.Modules), Kubernetes, s.Pins.Version)
	if len(s.Missing) == 0 {
		if err := s.fetch(ctx); err != nil {
			return "", err
		}
	}
	say("verifying them against go.sum")
	load, err := repo.Load(ctx, ref)
	if err != nil {
		return "", err
	}
	for _, m := range s.Modules {
		if m.dir == "" {
			load.Add(m.Prefix+"go.mod", false, fmt.Appendf(nil, "module %s\n\ngo %s\n", m.Path, s.Go))
		} else if err == nil {
			err = m.load(load)
		}
	}
	return load.End(ctx, err)
}

// load loads the files of a module. The sum is that of the very bytes that are loaded.
func (m *Module) load(load *git.Load) error {
	names, err := dirhash.DirFiles(m.dir, m.String())
	if err != nil {
		return err
	}
	have, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		rel := strings.TrimPrefix(name, m.String()+"/")
		data, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(rel)))
		// The tree has no vendored modules, which verified modules of go.sum replace, and not upstream's
		// workspace, which the project's own workspace replaces.
		if m.Path != Kubernetes || rel != "go.work" && rel != "go.work.sum" && !strings.HasPrefix(rel, "vendor/") {
			// The module cache keeps no file modes. A script is recognised by its first line.
			load.Add(m.Prefix+rel, bytes.HasPrefix(data, []byte("#!")), data)
		}
		return io.NopCloser(bytes.NewReader(data)), err
	})
	if err == nil && have != m.Sum {
		err = fmt.Errorf("%s: the files in %s have sum %s, but go.sum has %s: run go clean -modcache", m, m.dir, have, m.Sum)
	}
	return err
}

// Upstream returns a file in the root of Kubernetes that the tree does not have, such as go.work. It is
// empty if there is no such file.
func (s *Source) Upstream(name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(s.Modules[0].dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// GoCommand returns the go command of Open.
func (s *Source) GoCommand() *golang.Go { return s.gocmd }
