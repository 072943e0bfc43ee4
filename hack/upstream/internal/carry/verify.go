// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/project"
)

// check is one run of Verify.
type check struct {
	*session
	r     *revision
	wrong []error
}

func (c *check) report(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Errorf(format, args...))
}

// Verify checks the series, and the tree if there is one. It fails with all errors that it finds, and changes
// nothing.
func (c *Carry) Verify(ctx context.Context) error {
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer s.end()
	c.Log = io.Discard
	r, err := c.load(c.Project.Read)
	if err != nil {
		return err
	}
	v := &check{session: s, r: r}
	err = v.examine(ctx)
	if err := errors.Join(append(v.wrong, err)...); err != nil {
		return err
	}
	for _, p := range r.patches {
		added, removed := p.Lines()
		size := fmt.Sprintf("+%-4d -%-4d", added, removed)
		if p.Markers != nil {
			types, places := p.Markers.Count()
			size = fmt.Sprintf("%d on %d", places, types)
		}
		name := strings.TrimPrefix(p.Name, "patches/")
		fmt.Fprintf(c.Out, "%-14s %-11s %s: %s\n", p.Header.Get("Carry")[0], size, name, p.Header.Subject)
	}
	return nil
}

// examine reports all that is wrong. It fails if it cannot go on, so that later parts are not examined.
func (c *check) examine(ctx context.Context) error {
	if err := c.complete(); err != nil {
		return err
	}
	if err := c.upstream(ctx, c.r); err != nil {
		return err
	}
	c.allowed()
	if err := c.apply(ctx, c.r); err != nil {
		return err
	}
	for i := range c.r.series {
		if err := c.canonical(ctx, i); err != nil {
			return err
		}
	}
	if err := c.optional(ctx); err != nil {
		return err
	}
	return c.agrees(ctx)
}

// complete reports patches, and folders with patches, that no series file lists.
func (c *check) complete() error {
	listed := map[string]bool{}
	for _, s := range c.r.series {
		listed[s.Dir] = true
		for _, f := range s.Folders {
			listed[f.Dir] = true
		}
	}
	for _, p := range c.r.patches {
		listed[p.Name] = true
	}
	root := c.r.series[0].Dir
	return filepath.WalkDir(c.Project.Path(root), func(file string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(c.Project.Root, file)
		name := filepath.ToSlash(rel)
		switch ext := path.Ext(name); {
		case err != nil || relErr != nil:
			return errors.Join(err, relErr)
		case e.IsDir() && !listed[name]:
			c.report("%s: is not in %s/series", name, root)
			return fs.SkipDir
		case !e.IsDir() && (ext == ".patch" || ext == ".yaml") && !listed[name]:
			c.report("%s: is not in %s/series", name, path.Dir(name))
		}
		return nil
	})
}

// allowed reports what is wrong with the headers, and changes of files that no patch may change.
func (c *check) allowed() {
	for _, p := range c.r.patches {
		for _, w := range p.Header.Check() {
			c.report("%s: %s", p.Name, w)
		}
		for _, change := range p.Files {
			if g := generate.WrittenBy(change.Path); g != "" && p.Series.Prefix == project.Kubernetes {
				c.report("%s: changes %s, which %s generates", p.Name, change.Path, g)
			}
			// In a published module these files have other content than in the Kubernetes repository.
			if dir, base := path.Split(change.Path); (base == "go.mod" || base == "go.sum") &&
				slices.Contains(c.r.src.Staging, strings.TrimPrefix(strings.TrimSuffix(dir, "/"), "staging/src/")) {
				c.report("%s: changes %s, which has other content in a clone of the Kubernetes repository", p.Name, change.Path)
			}
		}
	}
}

// canonical reports patches that refresh would write differently. It also reports a series if git am refuses it
// as export writes it, or makes other files of it than apply.
func (c *check) canonical(ctx context.Context, i int) error {
	one := c.r.series[i]
	patches, trees := c.r.part(i)
	var mails [][]byte
	var files []string
	for i, p := range patches {
		raw, err := c.text(ctx, p, trees[i], trees[i+1])
		if err != nil {
			return err
		}
		if p.Markers == nil && string(raw) != string(p.Raw) {
			c.report("%s:%d: is not in the form that refresh writes: run `%s refresh --rewrite`",
				p.Name, firstDifference(raw, p.Raw), command)
			raw = p.Raw
		}
		mails = append(mails, raw)
		for _, c := range p.Files {
			files = append(files, one.Prefix+c.Path)
		}
	}
	if len(mails) == 0 {
		return nil
	}
	var small [2]string // the files that the series changes, before and after it
	for i, tree := range []string{trees[0], trees[len(trees)-1]} {
		entries, err := c.repo.Entries(ctx, tree, files)
		if err != nil {
			return err
		}
		if small[i], err = c.repo.Edit(ctx, git.Empty, entries); err != nil {
			return err
		}
	}
	if got, err := c.repo.Am(ctx, small[0], one.Prefix, mails); err != nil {
		c.report("%s: git am refuses the series: %v", one.Dir, err)
	} else if got != small[1] {
		c.report("%s: git am and apply make different content: %s instead of %s", one.Dir, got, small[1])
	}
	return nil
}

// firstDifference returns the number of the first line at which two files differ, counted from 1.
func firstDifference(a, b []byte) int {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	i := 0
	for i < min(len(x), len(y)) && x[i] == y[i] {
		i++
	}
	return i + 1
}

// optional reports each set of optional folders that cannot be left out, because the rest of the series does not
// apply without them.
func (c *check) optional(ctx context.Context) error {
	var names []string
	for _, one := range c.r.series {
		for _, f := range one.Folders {
			if f.Optional {
				names = append(names, path.Base(f.Dir))
			}
		}
	}
	for set := 1; set < 1<<len(names); set++ {
		var without []string
		for i, name := range names {
			if set&(1<<i) != 0 {
				without = append(without, name)
			}
		}
		some, err := c.load(c.Project.Read, without...)
		if err != nil {
			return err
		}
		some.src, some.pristine = c.r.src, c.r.pristine
		if err := c.apply(ctx, some); err != nil {
			c.report("without %s: %v", strings.Join(without, " and "), err)
		}
	}
	return nil
}

// agrees reports a tree on disk that differs from the result of the series.
func (c *check) agrees(ctx context.Context) error {
	if c.last.Tree == git.Empty {
		return nil
	}
	_, edits, err := c.edits(ctx)
	if err != nil {
		return err
	}
	if len(edits) > 0 {
		c.report("upstream: %d files are edited:%s", len(edits), describe(edits))
	}
	if len(c.last.Without) > 0 {
		c.report("upstream: was made without %s: run `%s apply`", strings.Join(c.last.Without, " and "), command)
	} else if c.last.Inputs != c.r.digest() {
		c.report("upstream: differs from the result of the series: run `%s apply`", command)
	}
	return nil
}
