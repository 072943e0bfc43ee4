// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"golang.org/x/mod/module"

	"kube-granular.dev/hack/upstream/internal/golang"
	"kube-granular.dev/hack/upstream/internal/project"
)

// generatorDirs are the folders of the generator modules in the tree.
var generatorDirs = map[string]string{
	"k8s.io/gengo/v2":     project.Generators + "gengo/",
	"k8s.io/kube-openapi": project.Generators + "kube-openapi/",
}

// leftOut are files and folders of Kubernetes that the tree does not have: its vendored
// modules, which verified modules of go.sum replace, and its workspace, which the project's
// own workspace replaces.
var leftOut = []string{"vendor/", "go.work", "go.work.sum"}

// Module is a module in the module cache, with the folder of the tree that its files belong to.
type Module struct {
	module.Version
	// Prefix is the tree path of the module's root, with a slash at its end.
	Prefix string
	// Sum is the sum that the files of the module must have. It is empty if the Pins have no sums
	// because Pins.At made them.
	Sum string
}

// Source is one version of upstream.
type Source struct {
	// Pins are the pins that Open received.
	Pins Pins
	// Go is the version in the go line of Kubernetes' go.mod. Staging are its staging modules.
	Go      string
	Staging []string
	// Modules are all modules of the tree. The first one is Kubernetes itself.
	Modules []Module
	// Missing has a line for each module that FetchAll could not download, with the reason. An empty
	// module replaces each of them.
	Missing []string

	gocmd *golang.Go
	mu    sync.Mutex
	dirs  map[module.Version]string
	// absent are the paths of the missing modules.
	absent map[string]bool
}

// Open finds the modules of an upstream version. It downloads Kubernetes itself; the other
// modules are downloaded when they are first read. Open fails if the pins disagree with
// Kubernetes' go.mod, or if the go command is too old.
func Open(ctx context.Context, gocmd *golang.Go, pins Pins) (*Source, error) {
	s := &Source{Pins: pins, gocmd: gocmd, dirs: map[module.Version]string{}}
	if pins.Go != "" {
		if err := gocmd.Require(ctx, pins.Go, "go.mod"); err != nil {
			return nil, err
		}
	}
	root := Module{Version: module.Version{Path: Kubernetes, Version: pins.Version}, Prefix: project.Kubernetes}
	if err := s.pin(&root, pins.sums, "go.sum"); err != nil {
		return nil, err
	}
	if err := s.fetch(ctx, root); err != nil {
		return nil, err
	}
	gomod, err := os.ReadFile(filepath.Join(s.dirs[root.Version], "go.mod"))
	if err != nil {
		return nil, err
	}
	facts, err := readUpstream(gomod)
	if err != nil {
		return nil, err
	}
	if err := gocmd.Require(ctx, facts.Go, Kubernetes+" "+pins.Version); err != nil {
		return nil, err
	}
	if err := pins.Agree(facts.Staging); err != nil {
		return nil, err
	}
	s.Go, s.Staging, s.Modules = facts.Go, facts.Staging, []Module{root}
	staging, err := StagingVersion(pins.Version)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, path := range facts.Staging {
		m := Module{
			Version: module.Version{Path: path, Version: staging},
			Prefix:  project.Kubernetes + strings.TrimPrefix(stagingDir, "./") + path + "/",
		}
		errs = append(errs, s.pin(&m, pins.sums, "go.sum"))
		s.Modules = append(s.Modules, m)
	}
	// The sums of the generators come from Kubernetes' own go.sum. The sum of Kubernetes covers
	// that file.
	gosum, err := os.ReadFile(filepath.Join(s.dirs[root.Version], "go.sum"))
	if err != nil {
		return nil, err
	}
	for _, path := range []string{"k8s.io/gengo/v2", "k8s.io/kube-openapi"} {
		m := Module{Version: module.Version{Path: path, Version: facts.Generators[path]}, Prefix: generatorDirs[path]}
		errs = append(errs, s.pin(&m, parseSums(gosum), "go.sum of "+Kubernetes))
		s.Modules = append(s.Modules, m)
	}
	return s, errors.Join(errs...)
}

func (s *Source) pin(m *Module, sums map[module.Version]string, where string) error {
	if s.Pins.Free() {
		return nil
	}
	m.Sum = sums[m.Version]
	if m.Sum == "" {
		return fmt.Errorf("%s: no sum for %s %s: run GOWORK=off go mod download %s", where, m.Path, m.Version.Version, m.Version)
	}
	return nil
}

// fetch downloads modules into the module cache once, and compares the sums that the go command
// reports with the expected ones.
func (s *Source) fetch(ctx context.Context, mods ...Module) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var want []Module
	var ask []module.Version
	for _, m := range mods {
		if s.dirs[m.Version] == "" {
			want, ask = append(want, m), append(ask, m.Version)
		}
	}
	if len(want) == 0 {
		return nil
	}
	got, err := s.gocmd.Download(ctx, ask)
	if err != nil {
		return err
	}
	for i, d := range got {
		if sum := want[i].Sum; sum != "" && sum != d.Sum {
			return fmt.Errorf("%s: the downloaded module has sum %s, but go.sum has %s", want[i].Version, d.Sum, sum)
		}
		s.dirs[want[i].Version] = d.Dir
	}
	return nil
}

// FetchAll downloads all modules into the module cache at once. If it can't download a module, it
// lists the module in Missing, and writes an empty module below the folder standIns as a
// replacement. So a version can be tried without a module whose files the trial does not read.
func (s *Source) FetchAll(ctx context.Context, standIns string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ask []module.Version
	for _, m := range s.Modules {
		ask = append(ask, m.Version)
	}
	got, err := s.gocmd.DownloadSome(ctx, ask)
	if err != nil {
		return err
	}
	s.Missing, s.absent = nil, map[string]bool{}
	for i, d := range got {
		if d.Error == "" {
			s.dirs[ask[i]] = d.Dir
			continue
		}
		s.Missing = append(s.Missing, d.Error)
		s.absent[d.Path] = true
		dir := filepath.Join(standIns, filepath.FromSlash(d.Path))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), fmt.Appendf(nil, "module %s\n\ngo %s\n", d.Path, s.Go), 0o644); err != nil {
			return err
		}
		s.dirs[ask[i]] = dir
	}
	return nil
}

// Lacks returns the module of a tree path, and reports whether that module is missing.
func (s *Source) Lacks(tree string) (string, bool) {
	m, _, _ := s.locate(tree)
	return m.Path, s.absent[m.Path]
}

// Identity returns the modules and their sums, one line each.
func (s *Source) Identity() []string {
	var lines []string
	for _, m := range s.Modules {
		lines = append(lines, fmt.Sprintf("%s %s %s", m.Path, m.Version.Version, m.Sum))
	}
	return lines
}

// locate returns the module of a tree path and the path inside that module.
func (s *Source) locate(tree string) (Module, string, bool) {
	best := -1
	for i, m := range s.Modules {
		if strings.HasPrefix(tree, m.Prefix) && (best < 0 || len(m.Prefix) > len(s.Modules[best].Prefix)) {
			best = i
		}
	}
	if best < 0 {
		return Module{}, "", false
	}
	m := s.Modules[best]
	rel := strings.TrimPrefix(tree, m.Prefix)
	return m, rel, !excluded(m, rel)
}

func excluded(m Module, rel string) bool {
	return m.Path == Kubernetes && slices.ContainsFunc(leftOut, func(x string) bool {
		return rel == x || strings.HasSuffix(x, "/") && strings.HasPrefix(rel, x)
	})
}

// File returns the path in the module cache of the pristine file with a tree path. ok is false if
// there is no such file.
func (s *Source) File(ctx context.Context, tree string) (path string, ok bool, err error) {
	m, rel, ok := s.locate(tree)
	if !ok {
		return "", false, nil
	}
	if err := s.fetch(ctx, m); err != nil {
		return "", false, err
	}
	path = filepath.Join(s.dirs[m.Version], filepath.FromSlash(rel))
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir():
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	return path, true, nil
}

// List returns the tree paths of the pristine files in a folder, or none if there is no such folder.
func (s *Source) List(ctx context.Context, dir string) ([]string, error) {
	m, rel, ok := s.locate(dir + "/")
	if !ok {
		return nil, nil
	}
	if err := s.fetch(ctx, m); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(s.dirs[m.Version], filepath.FromSlash(rel)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, dir+"/"+e.Name())
		}
	}
	return names, nil
}

// Read returns the content of the pristine file with a tree path. ok is false if there is no such
// file.
func (s *Source) Read(ctx context.Context, tree string) (data []byte, ok bool, err error) {
	path, ok, err := s.File(ctx, tree)
	if err != nil || !ok {
		return nil, false, err
	}
	data, err = os.ReadFile(path)
	return data, err == nil, err
}

// Upstream returns a file in the root of Kubernetes that the tree does not have, such as go.work.
func (s *Source) Upstream(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(s.dirs[s.Modules[0].Version], name))
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
