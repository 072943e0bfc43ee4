// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"kube-granular.dev/hack/upstream/internal/gitrepo"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
	"kube-granular.dev/hack/upstream/internal/tree"
)

// Rebase moves both series to another version of Kubernetes. Hunks that merely
// moved follow; the first that does not ends the command, and nothing is changed.
// With write, the pins in go.mod and the sums in go.sum are changed as well.
func (c *Carry) Rebase(ctx context.Context, to string, write bool) error {
	if _, err := source.StagingVersion(to); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	unlock, err := tree.Lock(c.Project, func() { c.Log.Say("waiting for another run of this tool") })
	if err != nil {
		return err
	}
	defer unlock()
	r, err := c.load(c.Project.Read)
	if err != nil {
		return err
	}
	if err := c.noEdits(); err != nil {
		return err
	}
	old, _, err := open(ctx, r.pins)
	if err != nil {
		return err
	}
	c.Log.Say("fetching what the series touches at %s", to)
	target, gocmd, err := open(ctx, r.pins.At(to))
	if err != nil {
		return err
	}
	written := map[string][]byte{}
	for _, s := range r.series {
		if err := rebaseSeries(ctx, s, old, target, written); err != nil {
			return err
		}
	}
	var gomod, gosum []byte
	if write {
		sums, err := target.Sums(ctx, gocmd)
		if err != nil {
			return err
		}
		if gomod, gosum, err = source.Repin(r.gomod, r.gosum, target, sums); err != nil {
			return err
		}
	}
	w := &rewrite{carry: c, series: r.series}
	if err := w.save(written); err != nil {
		return err
	}
	if !write {
		fmt.Fprintf(c.Out, "the series applies to %s; go.mod must require:\n", to)
		for _, line := range target.PinLines() {
			fmt.Fprintf(c.Out, "\t%s\n", line)
		}
		return nil
	}
	return errors.Join(
		os.WriteFile(c.Project.Path("go.mod"), gomod, 0o644),
		os.WriteFile(c.Project.Path("go.sum"), gosum, 0o644))
}

// noEdits fails if the tree has edits: after a rebase there would be nothing
// left they could be refreshed into.
func (c *Carry) noEdits() error {
	m, err := tree.LoadManifest(c.Project)
	if err != nil || !m.Exists() {
		return err
	}
	found, err := tree.Scan(c.Project)
	if err != nil {
		return err
	}
	edits, _, err := m.Edits(c.Project, found)
	if err != nil {
		return err
	}
	if open := unknown(edits, func(string) string { return tree.Gone }); len(open) > 0 {
		return dirty(open)
	}
	return nil
}

// rebaseSeries replays a series on another version, patch by patch, and enters
// the patches that come out different.
func rebaseSeries(ctx context.Context, s *series.Series, old, target *source.Source, written map[string][]byte) (err error) {
	if len(s.Patches) == 0 {
		return nil
	}
	before, err := s.Apply(pristine(ctx, old, s))
	if err != nil {
		return err
	}
	base := series.State{}
	paths := make([]string, 0, len(before[0]))
	for file := range before[0] {
		if base[file], err = pristine(ctx, target, s).Read(file); err != nil {
			return err
		}
		paths = append(paths, file)
	}
	repo, err := gitrepo.New(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	commits, err := commit(ctx, repo, "old", s, before)
	if err != nil {
		return err
	}
	if err := repo.Orphan(ctx, "new"); err != nil {
		return err
	}
	if _, err := repo.Commit(ctx, base, "pristine\n"); err != nil {
		return err
	}
	after := []series.State{base}
	for i, p := range s.Patches {
		conflicts, err := repo.Pick(ctx, commits[i+1])
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		if len(conflicts) > 0 {
			return conflict(repo, p, conflicts[0], after[i][conflicts[0]], target)
		}
		head, err := repo.Head(ctx)
		if err != nil {
			return err
		}
		st, err := repo.State(ctx, head, paths)
		if err != nil {
			return err
		}
		after = append(after, st)
	}
	for i, p := range s.Patches {
		if unchanged(p, after[i], after[i+1]) {
			return fmt.Errorf("%s: %s %s already has all of it: remove it and its line in %s/series, then rebase again", p.Name, source.Kubernetes, target.Pins.Version, path.Dir(p.Name))
		}
		raw, err := renderPatch(ctx, repo, p, after[i], after[i+1])
		if err != nil {
			return err
		}
		if string(raw) != string(p.Raw) {
			written[p.Name] = raw
		}
	}
	return nil
}

func unchanged(p *series.Patch, before, after series.State) bool {
	for _, change := range p.Files {
		if !before[change.Path].Equal(after[change.Path]) {
			return false
		}
	}
	return true
}

// conflict says where a patch and another version disagree.
func conflict(repo *gitrepo.Repo, p *series.Patch, file string, have series.Content, target *source.Source) error {
	change := p.Touches(file)
	if change == nil {
		return fmt.Errorf("%s: conflicts in %s", p.Name, file)
	}
	c := &series.Conflict{Patch: p.Name, Path: file, Line: change.Locate(have.Data)}
	switch line := repo.ConflictLine(file); {
	case have.Absent:
		c.Err = fmt.Errorf("%s %s does not have this file", source.Kubernetes, target.Pins.Version)
	case line == 0:
		c.Err = fmt.Errorf("the patch removes it, and %s %s changes it", source.Kubernetes, target.Pins.Version)
	default:
		c.Err = fmt.Errorf("%s %s has changed the same place, line %d", source.Kubernetes, target.Pins.Version, line)
	}
	return c
}
