// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/markers"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
)

// apply opens the upstream version of a revision, and applies its patches to it. It fails at the first patch that does
// not apply exactly, if a marker cannot be written, and if a field at the root of a kind has no permission.
func (s *session) apply(ctx context.Context, r *revision) error {
	if err := s.upstream(ctx, r); err != nil {
		return err
	}
	trees, problems, err := s.replay(ctx, r.patches, r.pristine)
	if err == nil && len(problems) == 0 {
		problems, err = s.roots(ctx, r.patches, trees[len(trees)-1])
	}
	r.trees = trees
	return errors.Join(err, errors.Join(problems...))
}

// replay applies patches, and returns a problem for each marker that it cannot write.
func (s *session) replay(ctx context.Context, patches []*series.Patch, tree string) (trees []string, problems []error, err error) {
	trees = []string{tree}
	for _, p := range patches {
		var wrong []error
		if p.Markers == nil {
			tree, err = s.patch(ctx, p, tree)
		} else {
			tree, wrong, err = s.mark(ctx, p, tree)
		}
		if err != nil {
			return nil, problems, err
		}
		trees, problems = append(trees, tree), append(problems, wrong...)
	}
	return trees, problems, nil
}

// patch applies a mail patch to a tree.
func (s *session) patch(ctx context.Context, p *series.Patch, tree string) (string, error) {
	one := p.Series
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
func (s *session) mark(ctx context.Context, p *series.Patch, tree string) (string, []error, error) {
	sources, err := s.sources(ctx, tree, series.Dirs(p))
	if err != nil {
		return "", nil, err
	}
	changed, problems := p.Mark(sources)
	contents := map[string][]byte{}
	p.Files = []*series.Change{}
	for _, file := range slices.Sorted(maps.Keys(changed)) {
		contents[project.Kubernetes+file] = changed[file]
		p.Files = append(p.Files, &series.Change{Path: file})
	}
	after, err := s.repo.Write(ctx, tree, contents)
	return after, problems, err
}

func (s *session) roots(ctx context.Context, patches []*series.Patch, tree string) ([]error, error) {
	sources, err := s.sources(ctx, tree, series.Dirs(patches...))
	if err != nil {
		return nil, err
	}
	return series.Roots(patches, sources), nil
}

// sources reads the Go files of folders of Kubernetes that can declare types with markers.
func (s *session) sources(ctx context.Context, tree string, dirs []string) (map[string][]byte, error) {
	files, err := s.read(ctx, tree, dirs)
	maps.DeleteFunc(files, func(file string, data []byte) bool { return !markers.Readable(file, data) })
	return files, err
}

// read reads the Go files in folders of Kubernetes.
func (s *session) read(ctx context.Context, tree string, dirs []string) (map[string][]byte, error) {
	if len(dirs) == 0 {
		return nil, nil
	}
	var full, paths []string
	for _, dir := range dirs {
		full = append(full, project.Kubernetes+dir)
	}
	listed, err := s.repo.List(ctx, tree, full...)
	if err != nil {
		return nil, err
	}
	for file := range listed {
		if strings.HasSuffix(file, ".go") {
			paths = append(paths, file)
		}
	}
	files, err := s.repo.Read(ctx, tree, paths)
	return cutKeys(files, project.Kubernetes), err
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
