// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/golang"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/source"
	"kube-granular.dev/hack/upstream/internal/tree"
)

// generate runs the generators that are due, and adds their output to the manifest.
func (c *Carry) generate(ctx context.Context, gocmd *golang.Go, p *plan, m *tree.Manifest, kept map[string]bool, forced []string) error {
	maps.DeleteFunc(m.Generators, func(name string, _ tree.Run) bool {
		_, active := p.digests[name]
		return !active
	})
	env := generate.Env{Go: gocmd, Project: c.Project, Scratch: c.Project.Path(project.Scratch)}
	for _, g := range generate.Table { // p.due may be out of order
		if !slices.ContainsFunc(p.due, func(d generate.Generator) bool { return d.Name == g.Name }) {
			continue
		}
		m.Running = g.Name
		if err := m.Save(); err != nil {
			return err
		}
		step := c.Log.Step("running "+g.Name, 0)
		runErr := g.Run(ctx, env)
		m.Running = ""
		if runErr != nil {
			if err := m.Save(); err != nil {
				c.Log.Say("%v", err)
			}
			return runErr
		}
		outputs, err := c.collect(g, p, m, kept)
		if err != nil {
			return err
		}
		step.End()
		run := tree.Run{Inputs: p.digests[g.Name], Outputs: outputs}
		if len(kept) > 0 {
			run.Inputs = "" // the generator may have read edits that the digest does not include
		}
		m.Generators[g.Name] = run
		if slices.Contains(forced, g.Name) {
			for _, file := range outputs {
				fmt.Fprintf(c.Out, "%s: differs from upstream: %s\n", g.Name, file)
			}
		}
		if err := m.Save(); err != nil {
			return err
		}
	}
	return nil
}

// collect adds the output files of a generator to the manifest, after the generator ran. It
// returns the output files that differ from upstream's. It fails if the generator changed a file
// that the table of generators does not list as its output.
func (c *Carry) collect(g generate.Generator, p *plan, m *tree.Manifest, kept map[string]bool) ([]string, error) {
	found, err := tree.Scan(c.Project)
	if err != nil {
		return nil, err
	}
	outputs := []string{}
	isOutput := func(file string) bool {
		rel, ok := strings.CutPrefix(file, project.Kubernetes)
		return ok && g.Output(rel)
	}
	for file := range found {
		if !isOutput(file) || kept[file] {
			continue
		}
		if err := m.Settle(c.Project, file, p.pristineSum(file)); err != nil {
			return nil, err
		}
		if m.Files[file].Pristine != "" {
			outputs = append(outputs, file)
		}
	}
	for file := range p.pristine {
		if _, ok := found[file]; !ok && isOutput(file) && !kept[file] {
			if err := m.Remove(c.Project, file, p.pristineSum(file)); err != nil {
				return nil, err
			}
			outputs = append(outputs, file)
		}
	}
	slices.Sort(outputs)
	return outputs, c.others(g, p, m, found, kept)
}

// others looks for changes in files that are not output of the generator, and returns an error if
// the content of such a file changed. If the generator only wrote the same content again, others
// sets the modification time of the file back to the time in the manifest.
func (c *Carry) others(g generate.Generator, p *plan, m *tree.Manifest, found map[string]fs.FileInfo, kept map[string]bool) error {
	for file, info := range found {
		if e, ok := m.Files[file]; ok && e.Sum != tree.Gone && !kept[file] && info.Size() == e.Size && info.ModTime().UnixNano() != e.Time {
			if sum, err := source.HashFile(c.Project.Path(file)); err != nil {
				return err
			} else if sum == e.Sum {
				if err := m.Settle(c.Project, file, p.pristineSum(file)); err != nil {
					return err
				}
			}
		}
	}
	found, err := tree.Scan(c.Project)
	if err != nil {
		return err
	}
	edits, _, err := m.Edits(c.Project, found)
	if err != nil {
		return err
	}
	edits = slices.DeleteFunc(unknown(edits, p.wanted), func(e tree.Edit) bool { return kept[e.Tree] })
	if len(edits) > 0 {
		return fmt.Errorf("%s: changed files that its entry in the table of generators does not name:%s", g.Name, tree.Describe(edits))
	}
	return nil
}
