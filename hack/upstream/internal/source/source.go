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
	"maps"
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
	// Sum is the sum that the files of the module must have, and goModSum that of its go.mod.
	Sum, goModSum string
	// dir is the module's folder in the module cache. It is empty before Fetch, and for a missing module.
	dir string
}

// Source is one version of upstream.
type Source struct {
	// Pins are the pins that Open received, and Go its go command.
	Pins Pins
	Go   *golang.Go
	// GoLine is the version in the go line of Kubernetes' go.mod. Staging are its staging modules.
	GoLine  string
	Staging []string
	// Modules are all modules of the tree. The first one is Kubernetes itself.
	Modules []*Module
	// Missing has an error for each module that Fetch could not download.
	Missing []string
}

// Open finds the modules of an upstream version. It downloads only Kubernetes itself. It fails if the pins
// disagree with Kubernetes' go.mod, or if the go command is too old.
func Open(ctx context.Context, gocmd *golang.Go, pins Pins) (*Source, error) {
	s := &Source{Pins: pins, Go: gocmd}
	if pins.Go != "" {
		if err := gocmd.Require(ctx, pins.Go, "go.mod"); err != nil {
			return nil, err
		}
	}
	if err := s.add(Kubernetes, pins.Version, project.Kubernetes, pins.sums, "go.sum"); err != nil {
		return nil, err
	}
	if err := errors.Join(s.Fetch(ctx), s.Incomplete()); err != nil {
		return nil, err
	}
	gomod, err1 := s.Upstream("go.mod")
	gosum, err2 := s.Upstream("go.sum")
	facts, err3 := readUpstream(gomod)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	if err := errors.Join(gocmd.Require(ctx, facts.Go, s.Modules[0].String()), pins.Agree(facts.Staging)); err != nil {
		return nil, err
	}
	s.GoLine, s.Staging = facts.Go, facts.Staging
	staging, err := StagingVersion(pins.Version)
	errs := []error{err}
	for _, path := range facts.Staging {
		errs = append(errs, s.add(path, staging, project.Kubernetes+strings.TrimPrefix(stagingDir, "./")+path+"/", pins.sums, "go.sum"))
	}
	// The sum of Kubernetes covers its go.sum, which has the sums of the generators.
	for _, path := range slices.Sorted(maps.Keys(generatorDirs)) {
		errs = append(errs, s.add(path, facts.Generators[path], generatorDirs[path], parseSums(gosum), "go.sum of "+Kubernetes))
	}
	return s, errors.Join(errs...)
}

// add adds a module. Without sums, only the checksum database of Go verifies it.
func (s *Source) add(path, version, prefix string, sums map[module.Version]string, where string) error {
	m := &Module{Version: module.Version{Path: path, Version: version}, Prefix: prefix}
	s.Modules = append(s.Modules, m)
	if m.Sum = sums[m.Version]; m.Sum == "" && sums != nil {
		return fmt.Errorf("%s: no sum for %s %s: run GOWORK=off go mod download %s", where, path, version, m)
	}
	return nil
}

// Fetch downloads all modules into the module cache at once, and compares the sums that the go command
// reports with the expected ones. It lists those that it can't download in Missing.
func (s *Source) Fetch(ctx context.Context) error {
	var want []*Module
	var ask []module.Version
	for _, m := range s.Modules {
		if m.dir == "" {
			want, ask = append(want, m), append(ask, m.Version)
		}
	}
	s.Missing = nil
	if len(ask) == 0 {
		return nil
	}
	got, err := s.Go.Download(ctx, ask)
	for i, d := range got {
		m := want[i]
		switch {
		case d.Error != "":
			s.Missing = append(s.Missing, d.Error)
			continue
		case m.Sum != "" && m.Sum != d.Sum:
			return fmt.Errorf("%s: the downloaded module has sum %s, but go.sum has %s", m, d.Sum, m.Sum)
		}
		m.Sum, m.goModSum, m.dir = d.Sum, d.GoModSum, d.Dir
	}
	return err
}

// Incomplete returns an error that lists the missing modules, or nil if there are none.
func (s *Source) Incomplete() error {
	if len(s.Missing) == 0 {
		return nil
	}
	slices.Sort(s.Missing)
	return fmt.Errorf("cannot download %d of %d modules; check the network and the proxy that GOPROXY names\n  %s",
		len(s.Missing), len(s.Modules), strings.Join(s.Missing, "\n  "))
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
	ref := fmt.Sprintf("refs/pristine/%x", sha256.Sum256([]byte(strings.Join(s.Identity(), "\n"))))
	if tree, err := repo.Git(ctx, "rev-parse", "--verify", "--quiet", ref+"^{tree}"); err == nil {
		return tree, nil
	}
	say("fetching %d modules of %s %s from the module cache or GOPROXY, and verifying them against go.sum",
		len(s.Modules), Kubernetes, s.Pins.Version)
	if len(s.Missing) == 0 {
		if err := errors.Join(s.Fetch(ctx), s.Incomplete()); err != nil {
			return "", err
		}
	}
	tree, err := repo.Import(ctx, git.Empty, func(set func(string, git.Entry)) error {
		for _, m := range s.Modules {
			if m.dir == "" {
				set(m.Prefix+"go.mod", git.Entry{Mode: git.Executable(false), Data: fmt.Appendf(nil, "module %s\n\ngo %s\n", m.Path, s.GoLine)})
			} else if err := m.load(set); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	_, err = repo.Git(ctx, "update-ref", ref, tree)
	return tree, err
}

// load loads the files of a module. The sum is that of the very bytes that are loaded.
func (m *Module) load(set func(string, git.Entry)) error {
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
			set(m.Prefix+rel, git.Entry{Mode: git.Executable(bytes.HasPrefix(data, []byte("#!"))), Data: data})
		}
		return io.NopCloser(bytes.NewReader(data)), err
	})
	if err == nil && have != m.Sum {
		err = fmt.Errorf("%s: the files in %s have sum %s, but go.sum has %s: run go clean -modcache", m, m.dir, have, m.Sum)
	}
	return err
}

// Upstream returns a file in the root of Kubernetes, also one that the tree does not have, such as go.work. It is
// empty if there is no such file.
func (s *Source) Upstream(name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(s.Modules[0].dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}
