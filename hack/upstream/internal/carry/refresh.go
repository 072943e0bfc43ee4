// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
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
	"kube-granular.dev/hack/upstream/internal/markers"
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
	if err := handmade(edits); err != nil {
		return err
	}
	r, err := c.load(c.Project.Read, s.last.Without...)
	if err != nil {
		return err
	}
	if err := c.unseen(s.last.Without, edits); err != nil {
		return err
	}
	if len(edits) == 0 && !o.Rewrite {
		if o.New != "" || o.Into != "" {
			return errors.New("no file of the tree is edited")
		}
		c.say("no file of the tree is edited, so no patch changes")
		return nil
	}
	_, pristine, err := s.upstream(ctx, r.pins)
	if err != nil {
		return err
	}
	states, err := s.states(ctx, r.series, pristine)
	if err != nil {
		return err
	}
	w := &rewrite{session: s, series: r.series, states: states, changes: map[*series.Patch]map[string]git.Entry{}}
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
	if err := c.store(r.series, written, w.added); err != nil {
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
	return fmt.Errorf("%d edited files are generated, and a patch may not contain generated files: edit their sources, or run `%s apply --discard`:%s",
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
	for _, s := range r.series {
		for _, p := range s.Patches {
			for _, e := range edits {
				file, ok := strings.CutPrefix(e.Path, s.Prefix)
				if ok && slices.Contains(without, path.Base(path.Dir(p.Name))) && p.Touches(file) != nil {
					return fmt.Errorf("%s: %s changes this file too, but the tree was made without that patch: save the edit elsewhere, run `%s apply`, and edit the new tree", e.Path, p.Name, command)
				}
			}
		}
	}
	return nil
}

// rewrite collects changes of patches.
type rewrite struct {
	*session
	series []*series.Series
	states [][]string
	// changes are the files that an edit changes in the tree after a patch.
	changes map[*series.Patch]map[string]git.Entry
	added   *series.Patch
}

func (w *rewrite) add(name, subject string) error {
	s, position, err := series.Place(w.series, name)
	if err != nil {
		return err
	}
	w.added = &series.Patch{Name: "patches/" + strings.TrimPrefix(name, "patches/"), Header: series.Skeleton(subject)}
	if _, err := os.Stat(w.Project.Path(w.added.Name)); err == nil {
		return fmt.Errorf("%s: the file exists already", w.added.Name)
	}
	i := slices.Index(w.series, s)
	s.Patches = slices.Insert(s.Patches, position, w.added)
	w.states[i] = slices.Insert(w.states[i], position+1, w.states[i][position])
	return nil
}

// attribute finds the patch to which each edit belongs, and adds the edit to the changes of that patch.
func (w *rewrite) attribute(ctx context.Context, edits []git.Change, o RefreshOptions) error {
	var homeless, stale []git.Change
	for _, e := range edits {
		i := 0
		if strings.HasPrefix(e.Path, project.Generators) {
			i = 1
		}
		s, trees, file := w.series[i], w.states[i], strings.TrimPrefix(e.Path, w.series[i].Prefix)
		if err := inside(s, file); err != nil {
			return err
		}
		// The edit is based on the content that apply last wrote. If the series has other content by now, the
		// difference is not only the developer's edit.
		last, err := w.repo.Entries(ctx, trees[len(trees)-1], []string{e.Path})
		if err != nil {
			return err
		}
		if known := last[e.Path].ID; known != e.Was && (known != "" || e.Was != git.Gone) {
			stale = append(stale, e)
			continue
		}
		if e.Is != git.Gone && !strings.HasPrefix(e.Mode, "100") {
			return fmt.Errorf("%s: is not a regular file", e.Path)
		}
		if last[e.Path].Mode != "" && e.Is != git.Gone {
			e.Mode = last[e.Path].Mode // only that of a new file counts
		}
		if err := w.handwritten(ctx, s, trees[0], e); err != nil {
			return err
		}
		position, err := w.home(s, file, o)
		if err != nil {
			return err
		}
		if position < 0 {
			homeless = append(homeless, e)
			continue
		}
		entry, err := w.plain(ctx, s, position, e)
		if err != nil {
			return err
		}
		if w.changes[s.Patches[position]] == nil {
			w.changes[s.Patches[position]] = map[string]git.Entry{}
		}
		w.changes[s.Patches[position]][e.Path] = entry
	}
	if len(stale) > 0 {
		return fmt.Errorf("the series changed %d edited files after the last apply, and the edits are not based on that change: restore the patches, run refresh, and merge the two changes with git:%s",
			len(stale), describe(stale))
	}
	if len(homeless) > 0 {
		return fmt.Errorf("%d edited files belong to no patch: name a patch for them with --into NNNN-name, or make one with --new NNNN-name.patch --subject \"...\":%s",
			len(homeless), describe(homeless))
	}
	return nil
}

// home returns the index of the patch that takes the edit of a file, or -1 if no patch changes the file and the
// options name no patch. A file of markers never takes an edit, because it contains only comments.
func (w *rewrite) home(s *series.Series, file string, o RefreshOptions) (int, error) {
	last := -1
	for i, p := range s.Patches {
		if p.Markers == nil && p.Touches(file) != nil {
			last = i
		}
	}
	position, destination := last, o.Into
	switch {
	case w.added != nil:
		position, destination = slices.Index(s.Patches, w.added), w.added.Name
	case o.Into != "":
		target := series.Find(w.series, o.Into)
		if target == nil {
			return 0, fmt.Errorf("--into: no series has a patch %s", o.Into)
		} else if target.Markers != nil {
			return 0, fmt.Errorf("--into: %s is a file of markers and cannot take edits", target.Name)
		}
		position = slices.Index(s.Patches, target)
	}
	switch {
	case destination != "" && position < 0:
		return 0, fmt.Errorf("%s%s: belongs to another series than %s: run refresh with the path of this file only", s.Prefix, file, destination)
	case last > position:
		return 0, fmt.Errorf("%s%s: cannot go into %s, because the later %s changes it too", s.Prefix, file, s.Patches[position].Name, s.Patches[last].Name)
	}
	return position, nil
}

// plain returns the edited file as it must be right after the patch with the index at: without the markers that
// later files of markers write. It fails if these would not write them again at the same places.
func (w *rewrite) plain(ctx context.Context, s *series.Series, position int, e git.Change) (git.Entry, error) {
	file := strings.TrimPrefix(e.Path, s.Prefix)
	marked := slices.DeleteFunc(slices.Clone(s.Patches[position+1:]), func(p *series.Patch) bool { return p.Markers == nil || p.Touches(file) == nil })
	if len(marked) == 0 {
		return e.Entry(), nil
	}
	if e.Is == git.Gone {
		return git.Entry{}, fmt.Errorf("%s: the edit removes this file, but %s writes markers into it: change that file of markers", e.Path, marked[0].Name)
	}
	content, err := w.repo.Blob(ctx, e.Is)
	plain := content
	for _, p := range slices.Backward(marked) {
		if err == nil {
			plain, err = p.Unmark(file, plain)
		}
	}
	if err != nil {
		return git.Entry{}, byHand(e, "\n"+err.Error())
	}
	again := plain
	for _, p := range marked {
		if err == nil {
			again, err = p.Remark(file, again)
		}
	}
	if err != nil || string(again) != string(content) {
		return git.Entry{}, fmt.Errorf("%s: markers in it are not at their places: run `%s apply --discard`, and edit again", e.Path, command)
	}
	ids, err := w.repo.Store(ctx, map[string][]byte{file: plain})
	return git.Entry{Mode: e.Mode, ID: ids[file]}, err
}

func byHand(e git.Change, where string) error {
	return fmt.Errorf("%s: its markers were edited by hand: restore them, change the file of markers that they come from, and run `%s apply`:%s", e.Path, command, where)
}

// handwritten returns an error if an edit changes markers (comments that declare permissions) in a file that
// upstream has. A developer must change such markers in the files of markers of the series.
func (w *rewrite) handwritten(ctx context.Context, s *series.Series, pristine string, e git.Change) error {
	file := strings.TrimPrefix(e.Path, s.Prefix)
	had, err := w.repo.Entries(ctx, pristine, []string{e.Path})
	if err != nil || len(had) == 0 || e.Was == git.Gone || e.Is == git.Gone || !strings.HasSuffix(file, ".go") {
		return err
	}
	oldText, err1 := w.repo.Blob(ctx, e.Was)
	newText, err2 := w.repo.Blob(ctx, e.Is)
	if err := errors.Join(err1, err2); err != nil || slices.Equal(markers.Lines(oldText), markers.Lines(newText)) {
		return err
	}
	var edited, all string
	for _, p := range slices.Backward(s.Patches) {
		if p.Markers == nil || p.Touches(file) == nil {
			continue
		}
		all = " and " + p.Name + all
		if plain, err := p.Unmark(file, newText); err != nil {
			edited = "\n  " + strings.ReplaceAll(err.Error(), "\n", "\n  ") + edited
		} else {
			newText = plain
		}
	}
	switch {
	case edited != "":
		return byHand(e, edited)
	case all == "":
		return byHand(e, " a file of markers, such as "+path.Join(s.Dir, "markers/NNNN-name.yaml"))
	}
	return byHand(e, strings.TrimPrefix(all, " and"))
}

// render returns the new text of each changed patch, in its canonical form.
func (w *rewrite) render(ctx context.Context, all bool) (map[string][]byte, error) {
	out := map[string][]byte{}
	for i, s := range w.series {
		for j, p := range s.Patches {
			changes := w.changes[p]
			if p.Markers != nil || len(changes) == 0 && !all && p != w.added {
				continue
			}
			after, err := w.repo.Edit(ctx, w.states[i][j+1], changes)
			if err != nil {
				return nil, err
			}
			raw, err := w.text(ctx, s, p, w.states[i][j], after)
			if err != nil {
				return nil, err
			}
			if string(raw) != string(p.Raw) {
				out[p.Name] = raw
			}
		}
	}
	return out, nil
}

// text returns the text of a patch as the difference of two trees.
func (s *session) text(ctx context.Context, one *series.Series, p *series.Patch, before, after string) ([]byte, error) {
	diff, err := s.repo.Diff(ctx, before, after, one.Prefix)
	if err != nil {
		return nil, err
	}
	if len(diff) == 0 {
		return nil, fmt.Errorf("%s: would no longer change anything: remove it and its line in the series file, then run `%s apply`", p.Name, command)
	}
	raw := series.Render(p.Header, diff)
	if _, err := series.Parse(p.Name, raw); err != nil {
		return nil, fmt.Errorf("cannot write this edit as a patch: %w", err)
	}
	return raw, nil
}

// store writes the given texts to the files of the patches, and prints the names of these files. It adds a new
// patch to its file named series.
func (c *Carry) store(all []*series.Series, written map[string][]byte, added *series.Patch) error {
	for _, s := range all {
		for _, p := range s.Patches {
			raw, ok := written[p.Name]
			if !ok {
				continue
			}
			err := errors.Join(os.MkdirAll(c.Project.Path(path.Dir(p.Name)), 0o755), os.WriteFile(c.Project.Path(p.Name), raw, 0o644))
			if p == added && err == nil {
				list := path.Dir(p.Name) + "/series"
				data, read := c.Project.Read(list)
				if read != nil && !errors.Is(read, fs.ErrNotExist) {
					return read
				}
				if n := len(data); n > 0 && data[n-1] != '\n' {
					data = append(data, '\n')
				}
				err = os.WriteFile(c.Project.Path(list), append(data, path.Base(p.Name)+"\n"...), 0o644)
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(c.Out, p.Name)
		}
	}
	return nil
}
