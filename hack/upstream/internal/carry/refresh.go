// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/tree"
)

// RefreshOptions select the edits, and the patch that takes them.
type RefreshOptions struct {
	// Into is the name of the patch that takes all edits. If it is empty, the edit of a file goes
	// to the last patch that changes the file.
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
	if o.Into != "" && o.New != "" {
		return errors.New("--into and --new exclude each other")
	}
	if (o.New == "") != (o.Subject == "") {
		return errors.New("--new and --subject need each other")
	}
	unlock, err := tree.Lock(c.Project, func() { c.Log.Say("waiting for another run of this tool") })
	if err != nil {
		return err
	}
	defer unlock()
	m, edits, err := c.edits(o)
	if err != nil {
		return err
	}
	r, err := c.load(c.Project.Read, m.Without...)
	if err != nil {
		return err
	}
	if err := c.unseen(m.Without, edits); err != nil {
		return err
	}
	if len(edits) == 0 && !o.Rewrite {
		if o.New != "" || o.Into != "" {
			return errors.New("no file of the tree is edited")
		}
		c.Log.Say("no file of the tree is edited, so no patch changes")
		return nil
	}
	src, _, err := open(ctx, r.pins)
	if err != nil {
		return err
	}
	all, err := states(ctx, src, r.series)
	if err != nil {
		return err
	}
	w := &rewrite{carry: c, series: r.series, states: all, changed: map[*series.Patch]bool{}, rewriteAll: o.Rewrite}
	if o.New != "" {
		if err := w.add(o.New, o.Subject); err != nil {
			return err
		}
	}
	if err := w.attribute(ctx, src, m, edits, o); err != nil {
		return err
	}
	written, err := w.render(ctx)
	if err != nil {
		return err
	}
	if err := w.save(written); err != nil {
		return err
	}
	return c.settled(m, edits)
}

// edits returns the edits that refresh must write into patches.
func (c *Carry) edits(o RefreshOptions) (*tree.Manifest, []tree.Edit, error) {
	m, err := tree.LoadManifest(c.Project)
	if err != nil {
		return nil, nil, err
	}
	if !m.Exists() {
		return nil, nil, fmt.Errorf("there is no %s, so the tool cannot find the edits: run `%s apply` first", project.Manifest, command)
	}
	found, err := tree.Scan(c.Project)
	if err != nil {
		return nil, nil, err
	}
	edits, _, err := m.Edits(c.Project, found)
	if err != nil {
		return nil, nil, err
	}
	edits = unknown(edits, func(string) string { return tree.Gone })
	edits = slices.DeleteFunc(edits, func(e tree.Edit) bool {
		return len(o.Paths) > 0 && !slices.ContainsFunc(o.Paths, func(p string) bool {
			return e.Tree == p || strings.HasPrefix(e.Tree, strings.TrimSuffix(p, "/")+"/")
		})
	})
	var generated []tree.Edit
	for _, e := range edits {
		rel, ok := strings.CutPrefix(e.Tree, project.Kubernetes)
		if ok && generate.WrittenBy(rel) != "" || e.Tree == project.Work || e.Tree == project.GeneratorsWork {
			generated = append(generated, e)
		}
	}
	if len(generated) > 0 {
		return nil, nil, fmt.Errorf("%d edited files are generated, and a patch may not contain generated files: edit their sources, or run `%s apply --discard`:%s",
			len(generated), command, tree.Describe(generated))
	}
	return m, edits, nil
}

// unseen returns an error if a patch that was left out of the tree changes an edited file, because
// nobody has seen the result of the edit and that patch together.
func (c *Carry) unseen(without []string, edits []tree.Edit) error {
	if len(without) == 0 {
		return nil
	}
	r, err := c.load(c.Project.Read)
	if err != nil {
		return err
	}
	for _, s := range r.series {
		for _, p := range s.Patches {
			if !slices.Contains(without, path.Base(path.Dir(p.Name))) {
				continue
			}
			for _, e := range edits {
				if file, ok := strings.CutPrefix(e.Tree, s.Prefix); ok && p.Touches(file) != nil {
					return fmt.Errorf("%s: %s changes this file too, but the tree was made without that patch: save the edit elsewhere, run `%s apply`, and edit the new tree", e.Tree, p.Name, command)
				}
			}
		}
	}
	return nil
}

// settled puts the sums of the edited files into the manifest, so that these files no longer count
// as edited: the patches now result in this content.
func (c *Carry) settled(m *tree.Manifest, edits []tree.Edit) error {
	for _, e := range edits {
		was := tree.Gone
		if old, ok := m.Files[e.Tree]; ok {
			was = old.PristineSum()
		}
		if e.Is == tree.Gone {
			if err := m.Remove(c.Project, e.Tree, was); err != nil {
				return err
			}
			continue
		}
		if err := m.Record(c.Project, e.Tree, e.Is, was); err != nil {
			return err
		}
	}
	return m.Save()
}
