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
	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
)

// Verify checks the series, and the tree if there is one. It fails with all errors that it finds, and changes
// nothing.
func (c *Carry) Verify(ctx context.Context) error {
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer s.end()
	s.quiet = true
	r, err := c.load(c.Project.Read)
	if err != nil {
		return err
	}
	var wrong []error
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if err := c.complete(r.series, report); err != nil {
		return err
	}
	src, pristine, err := s.upstream(ctx, r.pins)
	if err != nil {
		return errors.Join(append(wrong, err)...)
	}
	for _, one := range r.series {
		for _, p := range one.Patches {
			for _, w := range p.Header.Check() {
				report("%s: %s", p.Name, w)
			}
			for _, change := range p.Files {
				if g := generate.WrittenBy(change.Path); g != "" && one.Prefix == project.Kubernetes {
					report("%s: changes %s, which %s generates", p.Name, change.Path, g)
				}
				// In a published module these files have other content than in the Kubernetes repository.
				if dir, base := path.Split(change.Path); (base == "go.mod" || base == "go.sum") &&
					slices.Contains(src.Staging, strings.TrimPrefix(strings.TrimSuffix(dir, "/"), "staging/src/")) {
					report("%s: changes %s, which has other content in a clone of the Kubernetes repository", p.Name, change.Path)
				}
			}
		}
	}
	states, err := s.states(ctx, r.series, pristine)
	if err != nil {
		return errors.Join(append(wrong, err)...)
	}
	for i, one := range r.series {
		if err := s.canonical(ctx, one, states[i], report); err != nil {
			return err
		}
	}
	if err := s.optional(ctx, r.series, pristine, report); err != nil {
		return err
	}
	if err := s.agrees(ctx, r, report); err != nil || len(wrong) > 0 {
		return errors.Join(append(wrong, err)...)
	}
	for _, one := range r.series {
		c.summary(one)
	}
	return nil
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
	return filepath.WalkDir(c.Project.Path(root), func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.Project.Root, file)
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

// canonical reports patches that refresh would write differently. It also reports a series if git am refuses it
// as export writes it, or makes other files of it than apply.
func (s *session) canonical(ctx context.Context, one *series.Series, trees []string, report func(string, ...any)) error {
	if len(one.Patches) == 0 {
		return nil
	}
	var mails [][]byte
	files := map[string]bool{}
	for i, p := range one.Patches {
		raw, err := s.text(ctx, one, p, trees[i], trees[i+1])
		if err != nil {
			return err
		}
		if p.Markers == nil {
			if string(raw) != string(p.Raw) {
				report("%s:%d: is not in the form that refresh writes: run `%s refresh --rewrite`", p.Name, firstDifference(raw, p.Raw), command)
			}
			raw = p.Raw
		}
		mails = append(mails, raw)
		for _, c := range p.Files {
			files[one.Prefix+c.Path] = true
		}
	}
	var small [2]string // the files that the series changes, before and after it
	for i, tree := range []string{trees[0], trees[len(trees)-1]} {
		entries, err := s.repo.List(ctx, tree)
		if err != nil {
			return err
		}
		for file := range entries {
			if !files[file] {
				delete(entries, file)
			}
		}
		if small[i], err = s.repo.Edit(ctx, git.Empty, entries); err != nil {
			return err
		}
	}
	got, err := s.repo.Am(ctx, small[0], one.Prefix, mails)
	if err != nil {
		report("%s: git am refuses the series: %v", one.Dir, err)
	} else if got != small[1] {
		report("%s: git am and apply make different content: %s instead of %s", one.Dir, got, small[1])
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

// optional reports each set of optional folders that cannot be left out, because the rest of the series does not
// apply without them.
func (s *session) optional(ctx context.Context, all []*series.Series, pristine string, report func(string, ...any)) error {
	names := series.Optional(all)
	for set := 1; set < 1<<len(names); set++ {
		var without []string
		for i, name := range names {
			if set&(1<<i) != 0 {
				without = append(without, name)
			}
		}
		some, err := series.Load(s.Project.Read, without...)
		if err != nil {
			return err
		}
		if _, err := s.states(ctx, some, pristine); err != nil {
			report("without %s: %v", strings.Join(without, " and "), err)
		}
	}
	return nil
}

// agrees reports a tree on disk that differs from the result of the series.
func (s *session) agrees(ctx context.Context, r *revision, report func(string, ...any)) error {
	if s.last.Tree == git.Empty {
		return nil
	}
	_, edits, err := s.edits(ctx)
	if err != nil {
		return err
	}
	const tree = "upstream"
	if len(edits) > 0 {
		report("%s: %d files are edited:%s", tree, len(edits), describe(edits))
	}
	if len(s.last.Without) > 0 {
		report("%s: was made without %s: run `%s apply`", tree, strings.Join(s.last.Without, " and "), command)
	} else if s.last.Inputs != r.digest(false) {
		report("%s: differs from the result of the series: run `%s apply`", tree, command)
	}
	return nil
}

func (c *Carry) summary(s *series.Series) {
	for _, p := range s.Patches {
		name, carry := strings.TrimPrefix(p.Name, "patches/"), strings.Join(p.Header.Get("Carry"), ",")
		added, removed := p.Lines()
		size := fmt.Sprintf("+%-4d -%-4d", added, removed)
		if p.Markers != nil {
			types, places := p.Markers.Count()
			size = fmt.Sprintf("%-11s", fmt.Sprintf("%d on %d", places, types))
		}
		fmt.Fprintf(c.Out, "%-14s %s %s: %s\n", carry, size, name, p.Header.Subject)
	}
}
