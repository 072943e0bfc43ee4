// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/project"
)

// generate runs the generators that are due, and adds their output to the record.
func (s *session) generate(ctx context.Context, p *plan, kept map[string]git.Entry, forced []string) error {
	maps.DeleteFunc(s.last.Generators, func(name string, _ output) bool { return p.digests[name] == "" })
	for _, g := range p.due {
		files, err := s.run(ctx, g, p, kept)
		if err != nil {
			return errors.Join(err, s.save())
		}
		run := output{Inputs: p.digests[g.Name], Files: files}
		if len(kept) > 0 {
			run.Inputs = "" // the generator may have read edits that the digest does not include
		}
		s.last.Generators[g.Name] = run
		if err := s.save(); err != nil {
			return err
		}
		if slices.Contains(forced, g.Name) {
			for _, file := range slices.Sorted(maps.Keys(files)) {
				fmt.Fprintf(s.Out, "%s: differs from upstream: %s\n", g.Name, file)
			}
		}
	}
	return nil
}

// run runs a generator, and returns its files that differ from upstream's. If the generator fails, the tree is as
// before. If it changed a file that the table of generators does not list as its output, run fails as well.
func (s *session) run(ctx context.Context, g generate.Generator, p *plan, kept map[string]git.Entry) (map[string]git.Entry, error) {
	before, err := s.repo.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.repo.List(ctx, before)
	if err != nil {
		return nil, err
	}
	env := generate.Env{Go: p.src.Go, Project: s.Project}
	stats := map[string]os.FileInfo{}
	for file := range all {
		rel, ok := strings.CutPrefix(file, project.Kubernetes)
		if !ok {
			continue
		}
		env.Files = append(env.Files, rel)
		if generate.WrittenBy(rel) != "" {
			if stats[file], err = os.Stat(s.Project.Path(file)); err != nil {
				return nil, err
			}
		}
	}
	s.last.Running = g.Name
	if err := s.save(); err != nil {
		return nil, err
	}
	done := s.step("running " + g.Name)
	failed := g.Run(ctx, env)
	after, err := s.repo.Snapshot(ctx)
	if err == nil && failed != nil {
		after, err = before, s.repo.Checkout(ctx, after, before)
	}
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	s.last.Running = ""
	wrote, others, err := s.outputs(ctx, g, before, after, kept)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	for file, info := range stats {
		if _, ok := wrote[file]; !ok { // at most written again, with the same content
			if err := os.Chtimes(s.Project.Path(file), info.ModTime(), info.ModTime()); err != nil {
				return nil, errors.Join(failed, err)
			}
		}
	}
	tree, err := s.repo.Edit(ctx, s.last.Tree, wrote)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	if s.last.Tree = tree; failed != nil {
		return nil, failed
	}
	if len(others) > 0 {
		return nil, fmt.Errorf("%s: changed files that its entry in the table of generators does not name:%s",
			g.Name, describe(others))
	}
	done()
	files, _, err := s.outputs(ctx, g, p.pristine, after, kept)
	return files, err
}

// outputs returns the outputs of a generator that differ between two trees, without edits that are kept, and the
// other files that differ.
func (s *session) outputs(ctx context.Context, g generate.Generator, before, after string, kept map[string]git.Entry) (
	map[string]git.Entry, []git.Change, error) {
	changes, err := s.repo.Changes(ctx, before, after)
	files, others := map[string]git.Entry{}, []git.Change{}
	for _, c := range changes {
		rel, inside := strings.CutPrefix(c.Path, project.Kubernetes)
		if _, edited := kept[c.Path]; inside && !edited && g.Output(rel) {
			files[c.Path] = c.Entry()
		} else {
			others = append(others, c)
		}
	}
	return files, others, err
}
