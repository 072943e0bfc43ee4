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

	"kube-granular.dev/hack/upstream/internal/golang"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/source"
	"kube-granular.dev/hack/upstream/internal/tree"
)

// RebaseOptions select the version, and what Rebase does.
type RebaseOptions struct {
	// To is the version of Kubernetes to move to.
	To string
	// If Write is true, Rebase changes the patches, the pins in go.mod and the sums in go.sum. If
	// it is false, Rebase only tries the version, and changes nothing.
	Write bool
	// Continue continues a rebase that stopped at conflicts. Abort gives it up.
	Continue, Abort bool
	// SkipBuild skips the compilation of the patched packages.
	SkipBuild bool
}

// Rebase moves both series to another version of Kubernetes. It finds the new positions of hunks
// and of markers (comments that declare permissions). It lists all conflicts. If there are none, it
// compiles the packages that the patches change, before it changes any file of the project.
func (c *Carry) Rebase(ctx context.Context, o RebaseOptions) error {
	unlock, err := tree.Lock(c.Project, func() { c.Log.Say("waiting for another run of this tool") })
	if err != nil {
		return err
	}
	defer unlock()
	begun, err := c.begun(&o)
	if err != nil {
		return err
	}
	if o.Abort {
		c.Log.Say("the rebase to %s is aborted; it changed no patch, and your edits of files of markers stay", begun.To)
		return os.RemoveAll(c.Project.Path(project.Rebase))
	}
	if _, err := source.StagingVersion(o.To); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
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
	c.Log.Say("fetching all modules of %s", o.To)
	target, gocmd, err := open(ctx, r.pins.At(o.To))
	if err != nil {
		return err
	}
	if err := c.fetchAll(ctx, target, o); err != nil {
		return err
	}
	var replays []*replay
	written := map[string][]byte{}
	for _, s := range r.series {
		one := &replay{series: s, old: old, target: target, resolved: c.decided(begun)}
		if err := one.run(ctx); err != nil {
			return err
		}
		maps.Copy(written, one.written)
		replays = append(replays, one)
	}
	for _, one := range replays {
		if err := c.changedUpstream(ctx, one); err != nil {
			return err
		}
	}
	if err := c.stop(begun, o, replays); err != nil {
		return err
	}
	sums, err := target.Sums(ctx, gocmd)
	if err != nil {
		return err
	}
	gomod, gosum, err := source.Repin(r.gomod, r.gosum, target, sums)
	if err != nil {
		return err
	}
	if !o.SkipBuild {
		if err := c.try(ctx, gocmd, target, replays, map[string][]byte{"go.mod": gomod, "go.sum": gosum}, written); err != nil {
			return c.notBuilt(begun, o, err)
		}
	}
	if !o.Write {
		c.report(o, target, written)
		return nil
	}
	w := &rewrite{carry: c, series: r.series}
	if err := w.save(written); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(c.Project.Path("go.mod"), gomod, 0o644),
		os.WriteFile(c.Project.Path("go.sum"), gosum, 0o644),
		os.RemoveAll(c.Project.Path(project.Rebase)))
}

// fetchAll downloads all modules of the target version, before the rebase does anything else. If
// the proxy does not serve some modules, a trial continues without them, and a rebase with --write
// fails.
func (c *Carry) fetchAll(ctx context.Context, target *source.Source, o RebaseOptions) error {
	if err := target.FetchAll(ctx, c.Project.Path(project.Rebase+"/missing")); err != nil {
		return err
	}
	if len(target.Missing) == 0 {
		return nil
	}
	missing := &golang.MissingError{Asked: len(target.Modules), Missing: target.Missing}
	if o.Write {
		return missing
	}
	c.Log.Say("%v\nthe trial continues without them; a move to the version needs all of them", missing)
	return nil
}

// stop returns an error if the rebase has conflicts. With --write, it also stores the conflicts
// that a person must resolve.
func (c *Carry) stop(p *inProgress, o RebaseOptions, replays []*replay) error {
	var all []*clash
	for _, one := range replays {
		all = append(all, one.conflicts...)
	}
	if len(all) == 0 {
		return nil
	}
	var lines []string
	for _, one := range all {
		lines = append(lines, one.Error())
	}
	text := fmt.Sprintf("%d conflicts with %s:\n%s\n", len(all), o.To, strings.Join(lines, "\n"))
	if !o.Write {
		return fmt.Errorf("%srun `%s rebase --to %s --write` to resolve them", text, command, o.To)
	}
	p.To, p.SkipBuild = o.To, o.SkipBuild
	if err := c.keep(p, all); err != nil {
		return err
	}
	return errors.New(text + c.howTo(p, all))
}

// notBuilt returns the error for patches that apply to the new version but do not compile there.
// The error tells the developer what to do.
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

// report prints the result of a trial without conflicts.
func (c *Carry) report(o RebaseOptions, target *source.Source, written map[string][]byte) {
	for _, name := range slices.Sorted(maps.Keys(written)) {
		fmt.Fprintln(c.Out, name)
	}
	built := ", and the patched packages compile"
	if o.SkipBuild {
		built = "; nothing was compiled"
	}
	fmt.Fprintf(c.Out, "the series applies to %s%s; go.mod must require:\n", o.To, built)
	for _, line := range target.PinLines() {
		fmt.Fprintf(c.Out, "\t%s\n", line)
	}
}

// noEdits fails if the tree has edits. Edits are based on the old version, so refresh could
// not write them into the patches after a rebase.
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
