// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/golang"
	"kube-granular.dev/hack/upstream/internal/progress"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
)

// Carry runs the commands of the tool on one project.
type Carry struct {
	Project project.Project
	// Log receives progress, Out receives results.
	Log *progress.Log
	Out io.Writer

	// source is the upstream version to which Apply applies the patches, even if go.sum has no
	// sums for this version. If source is nil, Apply uses the version in go.mod.
	source *source.Source
}

// revision is the state of the project at one git revision, or in the working tree.
type revision struct {
	gomod, gosum []byte
	pins         source.Pins
	series       []*series.Series
	// modules are the folders of the project's own modules in the working tree.
	modules []string
}

// load reads one revision of the project. read reads the files of that revision. without are the
// names of folders of the series to leave out.
func (c *Carry) load(read series.Reader, without ...string) (*revision, error) {
	r := &revision{}
	var err error
	if r.gomod, err = read("go.mod"); err != nil {
		return nil, err
	}
	if r.gosum, err = read("go.sum"); err != nil {
		return nil, fmt.Errorf("%w: the sums in it are needed to verify the upstream modules", err)
	}
	if r.pins, err = source.ReadPins(r.gomod, r.gosum); err != nil {
		return nil, err
	}
	if r.modules, err = c.Project.Modules(); err != nil {
		return nil, err
	}
	r.series, err = series.Load(read, without...)
	return r, err
}

// digest returns a hash of everything that the tree depends on.
func (r *revision) digest(pristine bool) string {
	h := sha256.New()
	fmt.Fprintf(h, "3 %v\n%s\n%s\n", pristine, r.pins.Identity(), strings.Join(r.modules, " "))
	for _, g := range generate.Table {
		fmt.Fprintf(h, "%s %d\n", g.Name, g.Version)
	}
	for _, s := range r.series {
		for _, p := range s.Patches {
			fmt.Fprintf(h, "%s %d\n%s\n", p.Name, len(p.Raw), p.Raw)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// open returns the upstream version of the pins, and the go command. If the caller passes a source
// that is already open, open returns that source instead.
func open(ctx context.Context, pins source.Pins, opened ...*source.Source) (*source.Source, *golang.Go, error) {
	gocmd, err := golang.Locate()
	if err != nil {
		return nil, nil, err
	}
	if len(opened) > 0 && opened[0] != nil {
		return opened[0], gocmd, nil
	}
	src, err := source.Open(ctx, gocmd, pins)
	return src, gocmd, err
}

// files reads the pristine files that a series patches.
type files struct {
	ctx    context.Context
	src    *source.Source
	prefix string
}

// pristine returns a reader of the upstream files that a series patches, without the patches.
func pristine(ctx context.Context, src *source.Source, s *series.Series) series.Sources {
	return files{ctx, src, s.Prefix}
}

func (f files) Read(path string) (series.Content, error) {
	data, ok, err := f.src.Read(f.ctx, f.prefix+path)
	if err != nil {
		return series.Content{}, err
	}
	return series.Content{Data: data, Absent: !ok}, nil
}

func (f files) List(dir string) ([]string, error) {
	names, err := f.src.List(f.ctx, f.prefix+dir)
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, f.prefix)
	}
	return names, err
}

// states applies both series to an upstream version. For each series, it returns the pristine
// state and the state after each patch.
func states(ctx context.Context, src *source.Source, all []*series.Series) ([][]series.State, error) {
	return statesOf(all, func(s *series.Series) series.Sources { return pristine(ctx, src, s) })
}

func statesOf(all []*series.Series, sources func(*series.Series) series.Sources) ([][]series.State, error) {
	var out [][]series.State
	for _, s := range all {
		st, err := s.Apply(sources(s))
		if err != nil {
			return nil, err
		}
		for path := range st[0] {
			if err := inside(s, path); err != nil {
				return nil, err
			}
		}
		out = append(out, st)
	}
	return out, nil
}

// inside returns an error if a series may not change a path. The generator series may change two
// modules only, gengo and kube-openapi. No series may change vendored modules, which are not in
// the tree, or go.work files, which the tool writes.
func inside(s *series.Series, path string) error {
	if s.Prefix == project.Generators && !strings.HasPrefix(path, "gengo/") && !strings.HasPrefix(path, "kube-openapi/") {
		return fmt.Errorf("%s: %s is neither in gengo/ nor in kube-openapi/", s.Dir, path)
	}
	if path == "go.work" || path == "go.work.sum" || strings.HasPrefix(path, "vendor/") {
		return fmt.Errorf("%s: %s is not part of the tree", s.Dir, path)
	}
	return nil
}

// command is the command that messages name to call this tool.
const command = "hack/upstream/run"
