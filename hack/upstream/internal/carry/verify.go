// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/gitrepo"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
	"kube-granular.dev/hack/upstream/internal/tree"
)

// Verify checks the series, and the tree if there is one. It fails with all errors that it
// finds, and changes nothing.
func (c *Carry) Verify(ctx context.Context) error {
	r, err := c.load(c.Project.Read)
	if err != nil {
		return err
	}
	var wrong []string
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if err := c.complete(r.series, report); err != nil {
		return err
	}
	for _, s := range r.series {
		for _, p := range s.Patches {
			for _, w := range p.Header.Check() {
				report("%s: %s", p.Name, w)
			}
			for _, change := range p.Files {
				if g := generate.WrittenBy(change.Path); g != "" && s.Prefix == project.Kubernetes {
					report("%s: changes %s, which %s generates", p.Name, change.Path, g)
				}
			}
		}
	}
	src, _, err := open(ctx, r.pins)
	if err != nil {
		return errors.Join(problems(wrong), err)
	}
	all, err := states(ctx, src, r.series)
	if err != nil {
		return errors.Join(problems(wrong), err)
	}
	for i, s := range r.series {
		if len(s.Patches) == 0 {
			continue
		}
		published(s, src, report)
		if err := c.canonical(ctx, s, all[i], report); err != nil {
			return err
		}
		if err := mailable(ctx, s, all[i], report); err != nil {
			return err
		}
	}
	if err := c.optional(ctx, src, r.series, report); err != nil {
		return err
	}
	if err := c.treeAgrees(r, report); err != nil {
		return err
	}
	if len(wrong) > 0 {
		return problems(wrong)
	}
	for _, s := range r.series {
		c.summary(s)
	}
	return nil
}

func problems(wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "\n"))
}

// complete reports patches, and folders with patches, that no series file lists.
func (c *Carry) complete(all []*series.Series, report func(string, ...any)) error {
	listed := map[string]bool{}
	for _, s := range all {
		listed[s.Dir] = true
		for _, f := range s.Folders {
			listed[f.Dir] = true
		}
		for _, p := range s.Patches {
			listed[p.Name] = true
		}
	}
	root := all[0].Dir
	return filepath.WalkDir(c.Project.Path(root), func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.Project.Root, at)
		name := filepath.ToSlash(rel)
		switch {
		case err != nil:
			return err
		case e.IsDir() && !listed[name]:
			report("%s: is not in %s/series", name, root)
			return fs.SkipDir
		case !e.IsDir() && (strings.HasSuffix(name, ".patch") || strings.HasSuffix(name, ".yaml")) && !listed[name]:
			report("%s: is not in %s/series", name, path.Dir(name))
		}
		return nil
	})
}

// optional reports each set of optional folders that cannot be left out, because the rest of the
// series does not apply without them.
func (c *Carry) optional(ctx context.Context, src *source.Source, all []*series.Series, report func(string, ...any)) error {
	names := series.Optional(all)
	for set := 1; set < 1<<len(names); set++ {
		var without []string
		for i, name := range names {
			if set&(1<<i) != 0 {
				without = append(without, name)
			}
		}
		some, err := series.Load(c.Project.Read, without...)
		if err != nil {
			return err
		}
		if _, err := states(ctx, src, some); err != nil {
			report("without %s: %v", strings.Join(without, " and "), err)
		}
	}
	return nil
}

// published reports each patch that changes go.mod or go.sum of a staging module. In a published
// module these files have other content than in the Kubernetes repository, so git am would fail in
// a clone.
func published(s *series.Series, src *source.Source, report func(string, ...any)) {
	for _, p := range s.Patches {
		for _, change := range p.Files {
			for _, m := range src.Staging {
				if dir := "staging/src/" + m + "/"; change.Path == dir+"go.mod" || change.Path == dir+"go.sum" {
					report("%s: changes %s, which has other content in a clone of the Kubernetes repository", p.Name, change.Path)
				}
			}
		}
	}
}

// canonical reports patches that refresh would write differently.
func (c *Carry) canonical(ctx context.Context, s *series.Series, st []series.State, report func(string, ...any)) (err error) {
	repo, err := gitrepo.New(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	for i, p := range s.Patches {
		if p.Markers != nil {
			continue
		}
		raw, err := renderPatch(ctx, repo, p, st[i], st[i+1])
		if err != nil {
			return err
		}
		if string(raw) != string(p.Raw) {
			report("%s:%d: is not in the form that refresh writes: run `%s refresh --rewrite`", p.Name, firstDifference(raw, p.Raw), command)
		}
	}
	return nil
}

// firstDifference returns the number of the first line at which two files differ, counted from 1.
func firstDifference(a, b []byte) int {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return i + 1
		}
	}
	return min(len(x), len(y)) + 1
}

// mailable reports a series if git am refuses it, or if git am and apply have different results.
func mailable(ctx context.Context, s *series.Series, st []series.State, report func(string, ...any)) (err error) {
	repo, err := gitrepo.New(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	all, err := mails(ctx, repo, s, st)
	if err != nil {
		return err
	}
	if _, err := repo.Commit(ctx, st[0], "pristine\n"); err != nil {
		return err
	}
	if err := repo.Am(ctx, all); err != nil {
		report("%s: git am refuses the series: %v", s.Dir, err)
		return nil
	}
	final := st[len(st)-1]
	paths := make([]string, 0, len(final))
	for file := range final {
		paths = append(paths, file)
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return err
	}
	got, err := repo.State(ctx, head, paths)
	if err != nil {
		return err
	}
	slices.Sort(paths)
	for _, file := range paths {
		if !got[file].Equal(final[file]) {
			report("%s: git am and apply make different content of %s", s.Dir, file)
		}
	}
	return nil
}

// treeAgrees reports a tree that differs from the result of the series.
func (c *Carry) treeAgrees(r *revision, report func(string, ...any)) error {
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
		report("%s: %d files are edited:%s", strings.TrimSuffix(project.Upstream, "/"), len(open), tree.Describe(open))
	}
	if len(m.Without) > 0 {
		report("%s: was made without %s: run `%s apply`", strings.TrimSuffix(project.Upstream, "/"), strings.Join(m.Without, " and "), command)
	} else if m.Inputs != r.digest(false) {
		report("%s: differs from the result of the series: run `%s apply`", strings.TrimSuffix(project.Upstream, "/"), command)
	}
	return nil
}

func (c *Carry) summary(s *series.Series) {
	for _, p := range s.Patches {
		if p.Markers != nil {
			types, places := p.Markers.Count()
			fmt.Fprintf(c.Out, "%-14s %-11s %s: %s\n", strings.Join(p.Header.Get("Carry"), ","), fmt.Sprintf("%d on %d", places, types), strings.TrimPrefix(p.Name, "patches/"), p.Header.Subject)
			continue
		}
		added, removed := p.Lines()
		fmt.Fprintf(c.Out, "%-14s +%-4d -%-4d %s: %s\n", strings.Join(p.Header.Get("Carry"), ","), added, removed, strings.TrimPrefix(p.Name, "patches/"), p.Header.Subject)
	}
}
