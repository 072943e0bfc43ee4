// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/source"
	"kube-granular.dev/hack/upstream/internal/tree"
)

// ApplyOptions select how Apply makes the tree.
type ApplyOptions struct {
	// Pristine makes the tree without patches and without the output of generators.
	Pristine bool
	// Without are the names of the folders of the series to leave out.
	Without []string
	// Discard overwrites edited files. Keep leaves edited files as they are, and makes Apply fail
	// if it would have to overwrite an edited file. If both are false and the tree has edits,
	// Apply fails.
	Discard, Keep bool
	// Generators are the names of generators that run even if their output is up to date.
	Generators []string
}

// Apply makes the tree from go.mod, the series and the generators. If the tree is up to
// date, Apply does nothing and prints nothing.
func (c *Carry) Apply(ctx context.Context, o ApplyOptions) error {
	unlock, err := tree.Lock(c.Project, func() { c.Log.Say("waiting for another run of this tool") })
	if err != nil {
		return err
	}
	defer unlock()
	m, err := tree.LoadManifest(c.Project)
	if err != nil {
		return err
	}
	if len(o.Generators) > 0 {
		o.Without = m.Without // forced generators run on the present tree, with its folders
	}
	r, err := c.load(c.Project.Read, o.Without...)
	if err != nil {
		return err
	}
	found, err := tree.Scan(c.Project)
	if err != nil {
		return err
	}
	edits, touched, err := m.Edits(c.Project, found)
	if err != nil {
		return err
	}
	digest := r.digest(o.Pristine)
	if m.Inputs == digest && len(o.Generators) == 0 && !c.sumsMissing() {
		switch open := unknown(edits, func(string) string { return tree.Gone }); {
		case len(open) == 0:
			if touched || !slices.Equal(m.Without, o.Without) {
				m.Without = o.Without // a folder that does not exist makes no difference
				return m.Save()
			}
			return nil
		case o.Keep:
			c.Log.Say("%d files of the tree are edited, and no patch has the edits:%s", len(open), tree.Describe(open))
			return nil
		case !o.Discard:
			return dirty(open)
		}
	}
	src, gocmd, err := open(ctx, r.pins, c.source)
	if err != nil {
		return err
	}
	p, err := makePlan(ctx, r, src, m, o.Pristine, o.Generators, c.Log)
	if err != nil {
		return err
	}
	kept, err := p.settle(m, unknown(edits, p.wanted), o)
	if err != nil {
		return err
	}
	renew := !slices.Equal(m.Modules, src.Identity())
	if err := c.write(ctx, p, m, edits, kept); err != nil {
		return err
	}
	if err := c.seedSums(src, renew); err != nil {
		return err
	}
	if err := c.generate(ctx, gocmd, p, m, kept, o.Generators); err != nil {
		return err
	}
	m.Inputs, m.Pending, m.Without = digest, nil, o.Without
	if len(o.Generators) > 0 {
		m.Inputs = "" // the output of forced generators may not be the wanted one
	}
	return m.Save()
}

// settle decides for each edited file of the tree whether Apply overwrites the file or keeps the
// edit. It returns the files whose edits are kept, and fails if the options allow neither for some
// file. A file is no edit if an interrupted run of this tool wrote its content.
func (p *plan) settle(m *tree.Manifest, edits []tree.Edit, o ApplyOptions) (map[string]bool, error) {
	interrupted := m.Inputs == ""
	kept := map[string]bool{}
	var open []tree.Edit
	for _, e := range edits {
		known := e.Is == p.wanted(e.Tree) ||
			e.Is == m.Pending[e.Tree] ||
			interrupted && e.Is == p.pristineSum(e.Tree)
		if g, ok := generate.Find(m.Running); ok {
			rel, inside := strings.CutPrefix(e.Tree, project.Kubernetes)
			known = known || inside && g.Output(rel)
		}
		switch {
		case known:
		case o.Discard:
		case o.Keep && p.wanted(e.Tree) == e.Was:
			kept[e.Tree] = true
			continue
		default:
			open = append(open, e)
			continue
		}
		// The edit replaced a generated file that only the tree had, so its generator must run again.
		if g, ok := p.held[e.Tree]; ok && e.Is != p.want[e.Tree] {
			p.release(g)
		}
	}
	if len(open) > 0 {
		return nil, dirty(open)
	}
	return kept, nil
}

// release removes the output files of a generator from the plan, so that the plan has upstream's
// versions of them, and adds the generator to those that must run.
func (p *plan) release(g generate.Generator) {
	for file, by := range p.held {
		if by.Name == g.Name {
			delete(p.held, file)
			if sum, ok := p.pristine[file]; ok {
				p.want[file] = sum
			} else {
				delete(p.want, file)
			}
		}
	}
	if !slices.ContainsFunc(p.due, func(d generate.Generator) bool { return d.Name == g.Name }) {
		p.due = append(p.due, g)
	}
}

func dirty(edits []tree.Edit) error {
	return fmt.Errorf("%d files of the tree are edited, and no patch has the edits:%s\nrun `%s refresh` to write them into the patches, or `%s apply --discard` to lose them",
		len(edits), tree.Describe(edits), command, command)
}

// write writes and removes files as the plan requires, except the output of generators.
func (c *Carry) write(ctx context.Context, p *plan, m *tree.Manifest, edits []tree.Edit, kept map[string]bool) error {
	now := map[string]string{}
	for file, e := range m.Files {
		now[file] = e.Sum
	}
	for _, e := range edits {
		now[e.Tree] = e.Is
	}
	var todo []string
	for file := range p.want {
		if !kept[file] && (now[file] != p.want[file] || m.Files[file].Sum != p.want[file] || m.Files[file].PristineSum() != p.pristineSum(file)) {
			todo = append(todo, file)
		}
	}
	for file := range now {
		_, wanted := p.want[file]
		if _, ours := m.Files[file]; !wanted && !kept[file] && (ours || !tree.Stray(file)) {
			todo = append(todo, file)
		}
	}
	slices.Sort(todo)
	m.Inputs, m.Pending = "", map[string]string{}
	for _, file := range todo {
		if _, ok := p.data[file]; ok {
			m.Pending[file] = p.want[file]
		}
	}
	if err := m.Save(); err != nil {
		return err
	}
	step := c.Log.Step("writing files", max(len(todo), 1))
	for _, file := range todo {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.writeOne(ctx, p, m, file, now[file]); err != nil {
			return err
		}
		step.Done()
	}
	step.End()
	m.Modules = p.src.Identity()
	return m.Save()
}

func (c *Carry) writeOne(ctx context.Context, p *plan, m *tree.Manifest, file, now string) error {
	want, was := p.wanted(file), p.pristineSum(file)
	switch {
	case want == tree.Gone:
		return m.Remove(c.Project, file, was)
	case now == want:
		return m.Record(c.Project, file, want, was)
	}
	content, ok := p.data[file]
	if !ok {
		path, found, err := p.src.File(ctx, file)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s: no upstream module has this file", file)
		}
		if content.Data, err = os.ReadFile(path); err != nil {
			return err
		}
		// The module cache keeps no file modes. A script is recognised by its first line.
		content.Executable = bytes.HasPrefix(content.Data, []byte("#!"))
	}
	if source.Hash(content.Data) != want {
		return fmt.Errorf("%s: the module cache has changed since it was verified: run go clean -modcache", file)
	}
	return m.Write(c.Project, file, content.Data, content.Executable, was)
}
