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

	"kube-granular.dev/hack/upstream/internal/gitrepo"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
	"kube-granular.dev/hack/upstream/internal/tree"
)

// rewrite collects changes of patches until save writes them.
type rewrite struct {
	carry      *Carry
	series     []*series.Series
	states     [][]series.State
	changed    map[*series.Patch]bool
	added      *series.Patch
	rewriteAll bool
}

func (w *rewrite) add(name, subject string) error {
	s, at, err := series.Place(w.series, name)
	if err != nil {
		return err
	}
	p := &series.Patch{Name: "patches/" + strings.TrimPrefix(name, "patches/"), Header: series.Skeleton(subject)}
	if _, err := os.Stat(w.carry.Project.Path(p.Name)); err == nil {
		return fmt.Errorf("%s: the file exists already", p.Name)
	}
	i := slices.Index(w.series, s)
	s.Patches = slices.Insert(s.Patches, at, p)
	w.states[i] = slices.Insert(w.states[i], at+1, clone(w.states[i][at]))
	w.added = p
	return nil
}

// attribute finds the patch to which each edit belongs, and puts the edited content into the state
// after that patch and into all later states.
func (w *rewrite) attribute(ctx context.Context, src *source.Source, m *tree.Manifest, edits []tree.Edit, o RefreshOptions) error {
	var homeless, stale []tree.Edit
	for _, e := range edits {
		i := 0
		if strings.HasPrefix(e.Tree, project.Generators) {
			i = 1
		}
		s, file := w.series[i], strings.TrimPrefix(e.Tree, w.series[i].Prefix)
		if err := inside(s, file); err != nil {
			return err
		}
		if err := w.known(ctx, src, i, file); err != nil {
			return err
		}
		// The edit is based on the content that apply last wrote. If the series has other
		// content by now, the difference is not only the developer's edit.
		last := w.states[i][len(w.states[i])-1][file]
		if sum(last) != e.Was {
			stale = append(stale, e)
			continue
		}
		content, err := w.carry.content(e, last)
		if err != nil {
			return err
		}
		if err := handwritten(s, file, w.states[i][0][file], last, content); err != nil {
			return err
		}
		at, err := w.home(s, file, o)
		if err != nil {
			return err
		}
		if at < 0 {
			homeless = append(homeless, e)
			continue
		}
		if err := w.insert(ctx, src, i, at, file, content); err != nil {
			return err
		}
		w.changed[s.Patches[at]] = true
	}
	if len(stale) > 0 {
		return fmt.Errorf("the series changed %d edited files after the last apply, and the edits are not based on that change: restore the patches, run refresh, and merge the two changes with git:%s",
			len(stale), tree.Describe(stale))
	}
	if len(homeless) > 0 {
		return fmt.Errorf("%d edited files belong to no patch: name a patch for them with --into NNNN-name, or make one with --new NNNN-name.patch --subject \"...\":%s",
			len(homeless), tree.Describe(homeless))
	}
	return nil
}

// known makes sure that all states of the series i contain a file. If they do not, it adds the
// file with its pristine content to each of them.
func (w *rewrite) known(ctx context.Context, src *source.Source, i int, file string) error {
	if _, ok := w.states[i][0][file]; ok {
		return nil
	}
	content, err := pristine(ctx, src, w.series[i]).Read(file)
	for _, st := range w.states[i] {
		st[file] = content
	}
	return err
}

// home returns the index of the patch that takes the edit of a file, or -1 if no patch changes the
// file and the options name no patch. A file of markers never takes an edit, because it contains
// only comments that declare permissions.
func (w *rewrite) home(s *series.Series, file string, o RefreshOptions) (int, error) {
	last := -1
	for i, p := range s.Patches {
		if p.Markers == nil && p.Touches(file) != nil {
			last = i
		}
	}
	switch {
	case w.added != nil:
		at := slices.Index(s.Patches, w.added)
		if at < 0 {
			return 0, fmt.Errorf("%s%s: belongs to another series than %s: run refresh with the path of this file only", s.Prefix, file, w.added.Name)
		}
		return at, earlier(s, file, at, last)
	case o.Into != "":
		target, at := series.Find(w.series, o.Into)
		switch {
		case target == nil:
			return 0, fmt.Errorf("--into: no series has a patch %s", o.Into)
		case target != s:
			return 0, fmt.Errorf("%s%s: belongs to another series than %s: run refresh with the path of this file only", s.Prefix, file, o.Into)
		case s.Patches[at].Markers != nil:
			return 0, fmt.Errorf("--into: %s is a file of markers and cannot take edits", s.Patches[at].Name)
		}
		return at, earlier(s, file, at, last)
	}
	return last, nil
}

// earlier returns an error if the edit of a file is to go into the patch with the index at, but a
// later patch also changes the file. last is the index of the last patch that changes the file.
func earlier(s *series.Series, file string, at, last int) error {
	if last > at {
		return fmt.Errorf("%s%s: cannot go into %s, because the later %s changes it too", s.Prefix, file, s.Patches[at].Name, s.Patches[last].Name)
	}
	return nil
}

// content reads an edited file. The tree does not keep the file modes of upstream, so content
// takes the executable mode from the disk only if the file is new. last is the content before the
// edit.
func (c *Carry) content(e tree.Edit, last series.Content) (series.Content, error) {
	if e.Is == tree.Gone {
		return series.Content{Absent: true}, nil
	}
	full := c.Project.Path(e.Tree)
	info, err := os.Lstat(full)
	if err != nil {
		return series.Content{}, err
	}
	if !info.Mode().IsRegular() {
		return series.Content{}, fmt.Errorf("%s: is not a regular file", e.Tree)
	}
	data, err := os.ReadFile(full)
	executable := last.Executable
	if last.Absent {
		executable = info.Mode()&fs.FileMode(0o111) != 0
	}
	return series.Content{Data: data, Executable: executable}, err
}

func sum(c series.Content) string {
	if c.Absent {
		return tree.Gone
	}
	return source.Hash(c.Data)
}

func clone(s series.State) series.State {
	out := make(series.State, len(s))
	for k, v := range s {
		out[k] = v
	}
	return out
}

// render returns the new text of each changed patch, in its canonical form.
func (w *rewrite) render(ctx context.Context) (map[string][]byte, error) {
	repo, err := gitrepo.New(ctx)
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	out := map[string][]byte{}
	for i, s := range w.series {
		for j, p := range s.Patches {
			if p.Markers != nil || !w.changed[p] && !w.rewriteAll && p != w.added {
				continue
			}
			raw, err := renderPatch(ctx, repo, p, w.states[i][j], w.states[i][j+1])
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

// renderPatch returns the text of a patch as the difference of two states.
func renderPatch(ctx context.Context, repo *gitrepo.Repo, p *series.Patch, before, after series.State) ([]byte, error) {
	a, b := series.State{}, series.State{}
	for file := range after {
		if !before[file].Equal(after[file]) {
			a[file], b[file] = before[file], after[file]
		}
	}
	diff, err := repo.Diff(ctx, a, b)
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

// save writes the given texts to the files of the patches, and prints the names of these files. If
// a patch is new, save also adds the patch to its file named series.
func (w *rewrite) save(written map[string][]byte) error {
	for _, s := range w.series {
		for _, p := range s.Patches {
			raw, ok := written[p.Name]
			if !ok {
				continue
			}
			if err := os.MkdirAll(w.carry.Project.Path(path.Dir(p.Name)), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(w.carry.Project.Path(p.Name), raw, 0o644); err != nil {
				return err
			}
			if p == w.added {
				if err := w.enlist(p); err != nil {
					return err
				}
			}
			fmt.Fprintln(w.carry.Out, p.Name)
		}
	}
	return nil
}

func (w *rewrite) enlist(p *series.Patch) error {
	file := path.Dir(p.Name) + "/series"
	data, err := w.carry.Project.Read(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if n := len(data); n > 0 && data[n-1] != '\n' {
		data = append(data, '\n')
	}
	return os.WriteFile(w.carry.Project.Path(file), append(data, path.Base(p.Name)+"\n"...), 0o644)
}
