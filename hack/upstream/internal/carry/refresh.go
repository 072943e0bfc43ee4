// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
)

// RefreshOptions select the edits, and the patch that takes them.
type RefreshOptions struct {
	// Into is the name of the patch that takes all edits. If it is empty, the edit of a file goes to the last
	// patch that changes the file.
	Into string
	// New is the file name of a new patch for all edits. Subject is its subject.
	New, Subject string
	// Paths limit the edits to these tree paths and the paths below them.
	Paths []string
	// Rewrite writes every patch in its canonical form.
	Rewrite bool
}

// Refresh writes the edits of the tree back into the patches.
func (c *Carry) Refresh(ctx context.Context, o RefreshOptions) error {
	switch {
	case o.Into != "" && o.New != "":
		return errors.New("--into and --new exclude each other")
	case (o.New == "") != (o.Subject == ""):
		return errors.New("--new and --subject need each other")
	}
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer s.end()
	if s.last.Tree == git.Empty {
		return fmt.Errorf("there is no %s, so the tool cannot find the edits: run `%s apply` first", project.Manifest, command)
	}
	_, edits, err := s.edits(ctx, o.Paths...)
	if err != nil {
		return err
	}
	if err := errors.Join(handmade(edits), c.unseen(s.last.Without, edits)); err != nil {
		return err
	}
	if len(edits) == 0 && !o.Rewrite {
		if o.New != "" || o.Into != "" {
			return errors.New("no file of the tree is edited")
		}
		c.say("no file of the tree is edited, so no patch changes")
		return nil
	}
	w := &rewrite{session: s, changes: map[*series.Patch]map[string]git.Entry{}}
	if w.r, err = c.load(c.Project.Read, s.last.Without...); err != nil {
		return err
	}
	if err := s.apply(ctx, w.r); err != nil {
		return err
	}
	if o.New != "" {
		if err := w.add(o.New, o.Subject); err != nil {
			return err
		}
	}
	if err := w.attribute(ctx, edits, o); err != nil {
		return err
	}
	written, err := w.render(ctx, o.Rewrite)
	if err != nil {
		return err
	}
	if err := c.store(w.r.patches, written, w.added); err != nil {
		return err
	}
	now := map[string]git.Entry{}
	for _, e := range edits { // these files no longer count as edited
		now[e.Path] = e.Entry()
	}
	if s.last.Tree, err = s.repo.Edit(ctx, s.last.Tree, now); err != nil {
		return err
	}
	return s.save()
}

// handmade fails if an edited file is a generated one.
func handmade(edits []git.Change) error {
	generated := slices.DeleteFunc(slices.Clone(edits), func(e git.Change) bool {
		rel, ok := strings.CutPrefix(e.Path, project.Kubernetes)
		return (!ok || generate.WrittenBy(rel) == "") && e.Path != project.Work && e.Path != project.GeneratorsWork
	})
	if len(generated) == 0 {
		return nil
	}
	return fmt.Errorf("%d edited files are generated, and a patch may not contain generated files: "+
		"edit their sources, or run `%s apply --discard`:%s",
		len(generated), command, describe(generated))
}

// unseen returns an error if a patch that was left out of the tree changes an edited file, because nobody has
// seen the result of the edit and that patch together.
func (c *Carry) unseen(without []string, edits []git.Change) error {
	if len(without) == 0 {
		return nil
	}
	r, err := c.load(c.Project.Read)
	if err != nil {
		return err
	}
	for _, p := range r.patches {
		for _, e := range edits {
			file, ok := strings.CutPrefix(e.Path, p.Series.Prefix)
			if ok && slices.Contains(without, path.Base(path.Dir(p.Name))) && p.Touches(file) != nil {
				return fmt.Errorf("%s: %s changes this file too, but the tree was made without that patch: "+
					"save the edit elsewhere, run `%s apply`, and edit the new tree", e.Path, p.Name, command)
			}
		}
	}
	return nil
}

// rewrite collects changes of patches.
type rewrite struct {
	*session
	r *revision
	// changes are the files that an edit changes in the tree after a patch.
	changes map[*series.Patch]map[string]git.Entry
	added   *series.Patch
}

func (w *rewrite) add(name, subject string) error {
	one, position, err := series.Place(w.r.series, name)
	if err != nil {
		return err
	}
	w.added = &series.Patch{Name: "patches/" + strings.TrimPrefix(name, "patches/"), Series: one, Header: series.Skeleton(subject)}
	if _, err := os.Stat(w.Project.Path(w.added.Name)); err == nil {
		return fmt.Errorf("%s: the file exists already", w.added.Name)
	}
	if one != w.r.series[0] {
		position += len(w.r.series[0].Patches)
	}
	w.r.patches = slices.Insert(w.r.patches, position, w.added)
	w.r.trees = slices.Insert(w.r.trees, position+1, w.r.trees[position])
	return nil
}

// attribute finds the patch to which each edit belongs, and adds the edit to the changes of that patch.
func (w *rewrite) attribute(ctx context.Context, edits []git.Change, o RefreshOptions) error {
	var homeless, stale []git.Change
	for _, e := range edits {
		one := w.r.series[0]
		if strings.HasPrefix(e.Path, project.Generators) {
			one = w.r.series[1]
		}
		file := strings.TrimPrefix(e.Path, one.Prefix)
		if err := inside(one, file); err != nil {
			return err
		}
		// The edit is based on the content that apply last wrote. If the series has other content by now, the
		// difference is not only the developer's edit.
		entries, err := w.repo.Entries(ctx, w.r.trees[len(w.r.trees)-1], []string{e.Path})
		if err != nil {
			return err
		}
		last := entries[e.Path]
		if last.ID != e.Was && (last.ID != "" || e.Was != git.Gone) {
			stale = append(stale, e)
			continue
		}
		if e.Is != git.Gone && !strings.HasPrefix(e.Mode, "100") {
			return fmt.Errorf("%s: is not a regular file", e.Path)
		}
		if e.Is != git.Gone {
			e.Mode = cmp.Or(last.Mode, e.Mode) // only that of a new file counts
		}
		if err := w.handwritten(ctx, one, e); err != nil {
			return err
		}
		position, err := w.home(one, file, o)
		if err != nil {
			return err
		}
		if position < 0 {
			homeless = append(homeless, e)
			continue
		}
		entry, err := w.plain(ctx, position, e)
		if err != nil {
			return err
		}
		p := w.r.patches[position]
		if w.changes[p] == nil {
			w.changes[p] = map[string]git.Entry{}
		}
		w.changes[p][e.Path] = entry
	}
	switch {
	case len(stale) > 0:
		return fmt.Errorf("the series changed %d edited files after the last apply, and the edits are not based on that change: "+
			"restore the patches, run refresh, and merge the two changes with git:%s",
			len(stale), describe(stale))
	case len(homeless) > 0:
		return fmt.Errorf("%d edited files belong to no patch: name a patch for them with --into NNNN-name, "+
			"or make one with --new NNNN-name.patch --subject \"...\":%s",
			len(homeless), describe(homeless))
	}
	return nil
}

// home returns the index of the patch that takes the edit of a file, or -1 if no patch changes the file and the
// options name no patch. A file of markers never takes an edit, because it contains only comments.
func (w *rewrite) home(one *series.Series, file string, o RefreshOptions) (int, error) {
	last := -1
	for i, p := range w.r.patches {
		if p.Series == one && p.Markers == nil && p.Touches(file) != nil {
			last = i
		}
	}
	target := w.added
	if o.Into != "" {
		target = series.Find(w.r.series, o.Into)
		switch {
		case target == nil:
			return 0, fmt.Errorf("--into: no series has a patch %s", o.Into)
		case target.Markers != nil:
			return 0, fmt.Errorf("--into: %s is a file of markers and cannot take edits", target.Name)
		}
	}
	if target == nil {
		return last, nil
	}
	position := slices.Index(w.r.patches, target)
	switch {
	case target.Series != one:
		return 0, fmt.Errorf("%s%s: belongs to another series than %s: run refresh with the path of this file only",
			one.Prefix, file, target.Name)
	case last > position:
		return 0, fmt.Errorf("%s%s: cannot go into %s, because the later %s changes it too",
			one.Prefix, file, target.Name, w.r.patches[last].Name)
	}
	return position, nil
}

// render returns the new text of each changed patch, in its canonical form.
func (w *rewrite) render(ctx context.Context, all bool) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for i, p := range w.r.patches {
		changes := w.changes[p]
		if p.Markers != nil || len(changes) == 0 && !all && p != w.added {
			continue
		}
		after, err := w.repo.Edit(ctx, w.r.trees[i+1], changes)
		if err != nil {
			return nil, err
		}
		raw, err := w.text(ctx, p, w.r.trees[i], after)
		if err != nil {
			return nil, err
		}
		if string(raw) != string(p.Raw) {
			texts[p.Name] = raw
		}
	}
	return texts, nil
}

// text returns the text of a patch as the difference of two trees.
func (s *session) text(ctx context.Context, p *series.Patch, before, after string) ([]byte, error) {
	diff, err := s.repo.Diff(ctx, before, after, p.Series.Prefix)
	if err != nil {
		return nil, err
	}
	if len(diff) == 0 {
		return nil, fmt.Errorf("%s: would no longer change anything: remove it and its line in the series file, then run `%s apply`",
			p.Name, command)
	}
	raw := series.Render(p.Header, diff)
	if _, err := series.Parse(p.Name, raw); err != nil {
		return nil, fmt.Errorf("cannot write this edit as a patch: %w", err)
	}
	return raw, nil
}

// store writes the given texts to the files of the patches, and prints the names of these files. It adds a new
// patch to its file named series.
func (c *Carry) store(patches []*series.Patch, written map[string][]byte, added *series.Patch) error {
	for _, p := range patches {
		raw, ok := written[p.Name]
		if !ok {
			continue
		}
		if err := c.Project.Write(p.Name, raw); err != nil {
			return err
		}
		if p == added {
			list := path.Dir(p.Name) + "/series"
			data, err := c.Project.Read(list)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if n := len(data); n > 0 && data[n-1] != '\n' {
				data = append(data, '\n')
			}
			if err := c.Project.Write(list, append(data, path.Base(p.Name)+"\n"...)); err != nil {
				return err
			}
		}
		fmt.Fprintln(c.Out, p.Name)
	}
	return nil
}
