// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
)

// RebaseOptions select the version, and what Rebase does.
type RebaseOptions struct {
	// To is the version of Kubernetes to move to.
	To string
	// If Write is true, Rebase changes the patches, the pins in go.mod and the sums in go.sum. If it is false,
	// Rebase only tries the version, and changes nothing.
	Write bool
	// Continue continues a rebase that stopped at conflicts. Abort gives it up.
	Continue, Abort bool
	// SkipBuild skips the compilation of the patched packages.
	SkipBuild bool
}

// move is the move of both series to another upstream version.
type move struct {
	*session
	*inProgress
	write  bool
	old    *revision
	target *source.Source

	conflicts []*clash
	// failed is the name of the first patch that has a conflict, by the tree path of the file.
	failed map[string]string
	// written are the patches whose text changes.
	written map[string][]byte
	// changing are the patches that change a file on one of the versions, by the tree path of the file.
	changing map[string][]*series.Patch
}

// Rebase moves both series to another version of Kubernetes by merges with three ways. It finds the new positions
// of markers (comments that declare permissions). It lists all conflicts. If there are none, it compiles the
// packages that the patches change, before it changes any file of the project.
func (c *Carry) Rebase(ctx context.Context, o RebaseOptions) error {
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer s.end()
	m := &move{session: s, write: o.Write || o.Continue,
		failed: map[string]string{}, written: map[string][]byte{}, changing: map[string][]*series.Patch{}}
	if m.inProgress, err = c.begun(o); err != nil {
		return err
	}
	if o.Abort {
		c.say("the rebase to %s is aborted; it changed no patch, and your edits of files of markers stay", m.To)
		return os.RemoveAll(c.Project.Path(project.Rebase))
	}
	if _, err := source.StagingVersion(m.To); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if m.old, err = c.load(c.Project.Read); err != nil {
		return err
	}
	// Refresh could not write edits, which are based on the old version, into the patches after a rebase.
	if _, edits, err := s.edits(ctx); err != nil {
		return err
	} else if s.last.Inputs+s.last.Writing != "" && len(edits) > 0 {
		return dirty(edits)
	}
	if err := s.upstream(ctx, m.old); err != nil {
		return err
	}
	dirs, err := m.code(ctx)
	if err != nil {
		return err
	}
	if len(m.conflicts) > 0 {
		return m.stop()
	}
	pins := map[string][]byte{}
	if pins["go.mod"], pins["go.sum"], err = source.Repin(m.old.gomod, m.old.gosum, m.target, m.target.Sums()); err != nil {
		return err
	}
	if !m.SkipBuild {
		if err := m.try(ctx, dirs, pins); err != nil {
			return err
		}
	}
	if !m.write {
		m.tried()
		return nil
	}
	if err := c.store(m.old.patches, m.written, nil); err != nil {
		return err
	}
	for name, data := range pins {
		if err := c.Project.Write(name, data); err != nil {
			return err
		}
	}
	return os.RemoveAll(c.Project.Path(project.Rebase))
}

// fetch fetches the new version, and returns its tree. A trial continues without modules that cannot be had.
func (m *move) fetch(ctx context.Context) (tree string, err error) {
	m.say("fetching all modules of %s", m.To)
	if m.target, err = source.Open(ctx, m.old.src.Go, m.old.pins.Move(m.To)); err != nil {
		return "", err
	}
	if err := m.target.Fetch(ctx); err != nil {
		return "", err
	}
	if missing := m.target.Incomplete(); missing != nil && m.write {
		return "", missing
	} else if missing != nil {
		m.say("%v\nthe trial continues without them; a move to the version needs all of them", missing)
	}
	return m.target.Tree(ctx, m.repo, m.say)
}

// code replays both series on the new version, and returns the folders of Kubernetes in which they change code.
func (m *move) code(ctx context.Context) ([]string, error) {
	now, err := m.fetch(ctx)
	if err != nil {
		return nil, err
	}
	onto, err := m.transfer(ctx, now)
	if err != nil {
		return nil, err
	}
	for _, one := range m.old.series {
		if err := m.report(ctx, one, now); err != nil {
			return nil, err
		}
	}
	changes, err := m.repo.Changes(ctx, now, onto, project.Kubernetes)
	dirs := map[string]bool{}
	for _, c := range changes {
		if strings.HasSuffix(c.Path, ".go") && !strings.HasSuffix(c.Path, "_test.go") && !strings.Contains(c.Path, "/testdata/") &&
			c.Is != git.Gone {
			dirs["./"+path.Dir(strings.TrimPrefix(c.Path, project.Kubernetes))] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs)), err
}

// try makes a copy of the project on the new version, in a separate folder, and compiles packages there. This also
// compiles the packages that they import, such as those of this project. The folder stays until the rebase has ended,
// so that the next try is fast.
func (m *move) try(ctx context.Context, dirs []string, pins map[string][]byte) error {
	tree := project.Project{Root: m.Project.Path(project.Rebase + "/tree")}
	if err := m.Project.Copy(tree); err != nil {
		return err
	}
	for _, files := range []map[string][]byte{pins, m.written} {
		for name, data := range files {
			if err := tree.Write(name, data); err != nil {
				return err
			}
		}
	}
	copied := &Carry{Project: tree, Log: m.Log, Out: m.Out, source: m.target, repo: m.Project.Path(project.Repo)}
	err := copied.Apply(ctx, ApplyOptions{Discard: true})
	if err == nil && len(dirs) > 0 {
		done := m.step("compiling what the patches change")
		err = m.target.Go.Build(ctx, tree.Path(project.Kubernetes), tree.Path(project.Work), dirs...)
		done()
	}
	if err == nil {
		return nil
	}
	again := fmt.Sprintf("rebase --to %s --write --skip-build", m.To)
	if m.write {
		if failed := m.keep(); failed != nil {
			return errors.Join(err, failed)
		}
		again = "rebase --continue --skip-build"
	}
	return fmt.Errorf("the series applies to %s, but the patched packages do not compile:\n%w\n"+
		"run `%s %s` to move anyway, then `%s apply`, correct the tree, and `%s refresh`", m.To, err, command, again, command, command)
}

// tried prints the result of a trial without conflicts.
func (m *move) tried() {
	for _, name := range slices.Sorted(maps.Keys(m.written)) {
		fmt.Fprintln(m.Out, name)
	}
	built := ", and the patched packages compile"
	if m.SkipBuild {
		built = "; nothing was compiled"
	}
	fmt.Fprintf(m.Out, "the series applies to %s%s; go.mod must require:\n", m.To, built)
	for _, p := range m.target.Pinned() {
		fmt.Fprintf(m.Out, "\t%s %s\n", p.Path, p.Version.Version)
	}
}
