// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/golang"
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

// Rebase moves both series to another version of Kubernetes by merges with three ways. It finds the new positions
// of markers (comments that declare permissions). It lists all conflicts. If there are none, it compiles the
// packages that the patches change, before it changes any file of the project.
func (c *Carry) Rebase(ctx context.Context, o RebaseOptions) error {
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer s.end()
	begun, err := c.begun(&o)
	if err != nil {
		return err
	}
	if o.Abort {
		c.say("the rebase to %s is aborted; it changed no patch, and your edits of files of markers stay", begun.To)
		return os.RemoveAll(c.Project.Path(project.Rebase))
	}
	if _, err := source.StagingVersion(o.To); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	r, err := c.load(c.Project.Read)
	if err != nil {
		return err
	}
	// Refresh could not write edits, which are based on the old version, into the patches after a rebase.
	if _, edits, err := s.edits(ctx); err != nil {
		return err
	} else if s.last.Inputs+s.last.Writing != "" && len(edits) > 0 {
		return dirty(edits)
	}
	_, old, err := s.upstream(ctx, r.pins)
	if err != nil {
		return err
	}
	gocmd, err := golang.Locate()
	if err != nil {
		return err
	}
	c.say("fetching all modules of %s", o.To)
	target, err := source.Open(ctx, gocmd, r.pins.At(o.To))
	if err != nil {
		return err
	}
	if err := target.FetchAll(ctx); err != nil {
		return err
	}
	if len(target.Missing) > 0 {
		missing := &golang.MissingError{Asked: len(target.Modules), Missing: target.Missing}
		if o.Write {
			return missing
		}
		c.say("%v\nthe trial continues without them; a move to the version needs all of them", missing)
	}
	now, err := target.Tree(ctx, s.repo, s.say)
	if err != nil {
		return err
	}
	var conflicts []*clash
	var dirs []string // in which the series for Kubernetes changes code
	written := map[string][]byte{}
	base, onto := old, now
	for i, one := range r.series {
		m := &move{session: s, series: one, begun: begun, old: r.pins.Version, target: target, failed: map[string]string{},
			written: written, by: map[string][]*series.Patch{}}
		if base, onto, err = m.run(ctx, base, onto); err != nil {
			return err
		}
		if err := m.report(ctx, old, now); err != nil {
			return err
		}
		if conflicts = append(conflicts, m.conflicts...); i == 0 {
			if dirs, err = s.packages(ctx, now, onto); err != nil {
				return err
			}
		}
	}
	if err := c.stop(begun, o, conflicts); err != nil {
		return err
	}
	sums, err := target.Sums(ctx)
	if err != nil {
		return err
	}
	pins := map[string][]byte{}
	if pins["go.mod"], pins["go.sum"], err = source.Repin(r.gomod, r.gosum, target, sums); err != nil {
		return err
	}
	if !o.SkipBuild {
		if err := c.try(ctx, gocmd, target, dirs, pins, written); err != nil {
			return c.notBuilt(begun, o, err)
		}
	}
	if !o.Write {
		c.tried(o, target, written)
		return nil
	}
	if err := c.store(r.series, written, nil); err != nil {
		return err
	}
	for name, data := range pins {
		err = errors.Join(err, os.WriteFile(c.Project.Path(name), data, 0o644))
	}
	return errors.Join(err, os.RemoveAll(c.Project.Path(project.Rebase)))
}

// stop returns an error if the rebase has conflicts. With --write, it also stores the conflicts that a person
// must resolve.
func (c *Carry) stop(p *inProgress, o RebaseOptions, all []*clash) error {
	if len(all) == 0 {
		return nil
	}
	text := fmt.Sprintf("%d conflicts with %s:\n", len(all), o.To)
	for _, one := range all {
		text += one.Error() + "\n"
	}
	if !o.Write {
		return fmt.Errorf("%srun `%s rebase --to %s --write` to resolve them", text, command, o.To)
	}
	p.To, p.SkipBuild = o.To, o.SkipBuild
	if err := c.keep(p, all); err != nil {
		return err
	}
	return errors.New(text + howTo(all))
}

// notBuilt returns the error for patches that apply to the new version but do not compile there.
func (c *Carry) notBuilt(p *inProgress, o RebaseOptions, err error) error {
	again := fmt.Sprintf("rebase --to %s --write --skip-build", o.To)
	if o.Write {
		p.To = o.To
		if err := c.keep(p, nil); err != nil {
			return err
		}
		again = "rebase --continue --skip-build"
	}
	return fmt.Errorf("the series applies to %s, but the patched packages do not compile:\n%w\nrun `%s %s` to move anyway, then `%s apply`, correct the tree, and `%s refresh`", o.To, err, command, again, command, command)
}

// tried prints the result of a trial without conflicts.
func (c *Carry) tried(o RebaseOptions, target *source.Source, written map[string][]byte) {
	for _, name := range slices.Sorted(maps.Keys(written)) {
		fmt.Fprintln(c.Out, name)
	}
	built := ", and the patched packages compile"
	if o.SkipBuild {
		built = "; nothing was compiled"
	}
	fmt.Fprintf(c.Out, "the series applies to %s%s; go.mod must require:\n\t%s\n", o.To, built, strings.Join(target.PinLines(), "\n\t"))
}

// packages returns the folders of Kubernetes in which code differs between two trees.
func (s *session) packages(ctx context.Context, before, after string) ([]string, error) {
	changes, err := s.repo.Changes(ctx, before, after, project.Kubernetes)
	dirs := map[string]bool{}
	for _, c := range changes {
		if strings.HasSuffix(c.Path, ".go") && !strings.HasSuffix(c.Path, "_test.go") && !strings.Contains(c.Path, "/testdata/") && c.Mode != "000000" {
			dirs["./"+filepath.Dir(strings.TrimPrefix(c.Path, project.Kubernetes))] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs)), err
}

// try makes a copy of the project on another upstream version, in a separate folder, and compiles packages there.
// This also compiles the packages that they import, such as those of this project. The folder stays until the
// rebase has ended, so that the next try is fast.
func (c *Carry) try(ctx context.Context, gocmd *golang.Go, target *source.Source, dirs []string, pins, written map[string][]byte) error {
	tree := project.Project{Root: c.Project.Path(project.Rebase + "/tree")}
	if err := c.Project.Copy(tree.Root); err != nil {
		return err
	}
	for _, files := range []map[string][]byte{pins, written} {
		for name, data := range files {
			if err := os.WriteFile(tree.Path(name), data, 0o644); err != nil {
				return err
			}
		}
	}
	copied := &Carry{Project: tree, Log: c.Log, Out: c.Out, source: target, repo: c.Project.Path(project.Repo)}
	if err := copied.Apply(ctx, ApplyOptions{Discard: true}); err != nil || len(dirs) == 0 {
		return err
	}
	defer c.step("compiling what the patches change")()
	return gocmd.Compile(ctx, tree.Path(project.Kubernetes), tree.Path(project.Work), dirs)
}
