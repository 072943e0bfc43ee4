// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/markers"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
)

// apply opens the upstream version of a revision, and applies its series to it.
func (s *session) apply(ctx context.Context, r *revision) (err error) {
	if err = s.upstream(ctx, r); err == nil {
		r.states, err = s.states(ctx, r.series, r.pristine)
	}
	return err
}

// states applies both series to a pristine tree, one after the other. For each of them, it returns the tree
// before its first patch and the tree after each patch. It fails at the first patch that does not apply
// exactly, if a marker cannot be written, and if a field at the root of a kind has no permission.
func (s *session) states(ctx context.Context, all []*series.Series, pristine string) (states [][]string, err error) {
	for _, one := range all {
		trees, problems, err := s.series(ctx, one, pristine)
		pristine = trees[len(trees)-1]
		if err == nil && len(problems) == 0 {
			problems, err = s.roots(ctx, one, pristine)
		}
		if err := errors.Join(err, errors.Join(problems...)); err != nil {
			return nil, err
		}
		states = append(states, trees)
	}
	return states, nil
}

// series applies one series, and returns a problem for each marker that it cannot write.
func (s *session) series(ctx context.Context, one *series.Series, tree string) (trees []string, problems []error, err error) {
	trees = []string{tree}
	for _, p := range one.Patches {
		var wrong []error
		if p.Markers != nil {
			tree, wrong, err = s.mark(ctx, one, p, tree)
		} else {
			tree, err = s.patch(ctx, one, p, tree)
		}
		if err != nil {
			break
		}
		trees, problems = append(trees, tree), append(problems, wrong...)
	}
	return trees, problems, err
}

// patch applies a mail patch to a tree.
func (s *session) patch(ctx context.Context, one *series.Series, p *series.Patch, tree string) (string, error) {
	var paths []string
	for _, c := range p.Files {
		if err := inside(one, c.Path); err != nil {
			return "", err
		}
		paths = append(paths, one.Prefix+c.Path)
	}
	key := tree + p.Name + string(p.Raw)
	if after, ok := s.applied[key]; ok {
		return after, nil
	}
	files, err := s.repo.Read(ctx, tree, paths)
	if err != nil {
		return "", err
	}
	if c := p.Conflict(cutKeys(files, one.Prefix)); c != nil {
		return "", c
	}
	after, err := s.repo.Apply(ctx, tree, one.Prefix, p.Raw)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Name, err)
	}
	s.applied[key] = after
	return after, nil
}

// inside returns an error if a series may not change a path. The generator series may change two modules only,
// gengo and kube-openapi. No series may change vendored modules, which are not in the tree, or go.work files,
// which the tool writes.
func inside(s *series.Series, file string) error {
	if s.Prefix == project.Generators && !strings.HasPrefix(file, "gengo/") && !strings.HasPrefix(file, "kube-openapi/") {
		return fmt.Errorf("%s: %s is neither in gengo/ nor in kube-openapi/", s.Dir, file)
	}
	if file == "go.work" || file == "go.work.sum" || strings.HasPrefix(file, "vendor/") {
		return fmt.Errorf("%s: %s is not part of the tree", s.Dir, file)
	}
	return nil
}

// mark applies a file of markers to a tree, and sets the files that it changes.
func (s *session) mark(ctx context.Context, one *series.Series, p *series.Patch, tree string) (string, []error, error) {
	sources, err := s.sources(ctx, tree, one.Prefix, series.Dirs(p))
	if err != nil {
		return "", nil, err
	}
	changed, problems := p.Mark(sources)
	contents := map[string][]byte{}
	p.Files = []*series.Change{}
	for _, file := range slices.Sorted(maps.Keys(changed)) {
		contents[one.Prefix+file] = changed[file]
		p.Files = append(p.Files, &series.Change{Path: file})
	}
	after, err := s.repo.Write(ctx, tree, contents)
	return after, problems, err
}

func (s *session) roots(ctx context.Context, one *series.Series, tree string) ([]error, error) {
	sources, err := s.sources(ctx, tree, one.Prefix, series.Dirs(one.Patches...))
	return one.Roots(sources), err
}

// sources reads the Go files of folders that can declare types with markers.
func (s *session) sources(ctx context.Context, tree, prefix string, dirs []string) (series.Sources, error) {
	sources := series.Sources{}
	files, err := s.read(ctx, tree, prefix, dirs)
	for file, data := range files {
		if dir := path.Dir(file); markers.Readable(file, data) {
			if sources[dir] == nil {
				sources[dir] = map[string][]byte{}
			}
			sources[dir][file] = data
		}
	}
	return sources, err
}

// read reads the Go files in folders below a prefix. The paths have no prefix.
func (s *session) read(ctx context.Context, tree, prefix string, dirs []string) (map[string][]byte, error) {
	if len(dirs) == 0 {
		return nil, nil
	}
	var full []string
	for _, dir := range dirs {
		full = append(full, prefix+dir)
	}
	listed, err := s.repo.List(ctx, tree, full...)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(listed, func(file string, _ git.Entry) bool { return !strings.HasSuffix(file, ".go") })
	files, err := s.repo.Read(ctx, tree, slices.Collect(maps.Keys(listed)))
	return cutKeys(files, prefix), err
}

// cutKeys removes a prefix from the keys of a map.
func cutKeys[V any](m map[string]V, prefix string) map[string]V {
	out := map[string]V{}
	for key, v := range m {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			out[rest] = v
		}
	}
	return out
}
