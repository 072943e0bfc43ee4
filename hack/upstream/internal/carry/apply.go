// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/source"
)

// ApplyOptions select how Apply makes the tree.
type ApplyOptions struct {
	// Pristine makes the tree without patches and without the output of generators.
	Pristine bool
	// Without are the names of the folders of the series to leave out.
	Without []string
	// Discard overwrites edited files. Keep leaves edited files as they are, and makes Apply fail if it would
	// have to overwrite an edited file. If both are false and the tree has edits, Apply fails.
	Discard, Keep bool
	// Generators are the names of generators that run even if their output is up to date.
	Generators []string
}

// Apply makes the tree from go.mod, the series and the generators. If the tree is up to date, Apply does
// nothing and prints nothing.
func (c *Carry) Apply(ctx context.Context, o ApplyOptions) error {
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer s.end()
	if len(o.Generators) > 0 {
		o.Without = s.last.Without // forced generators run on the present tree, with its folders
	}
	r, err := c.load(c.Project.Read, o.Without...)
	if err != nil {
		return err
	}
	digest := r.digest(o.Pristine)
	if s.last.Inputs == digest && len(o.Generators) == 0 && !c.sumsMissing() {
		switch _, edits, err := s.edits(ctx); {
		case err != nil:
			return err
		case len(edits) == 0 && slices.Equal(s.last.Without, o.Without):
			return nil
		case len(edits) == 0:
			s.last.Without = o.Without // a folder that does not exist makes no difference
			return s.save()
		case o.Keep:
			c.say("%d files of the tree are edited, and no patch has the edits:%s", len(edits), describe(edits))
			return nil
		case !o.Discard:
			return dirty(edits)
		}
	}
	p, err := s.plan(ctx, r, o)
	if err != nil {
		return err
	}
	kept, err := s.write(ctx, p, o)
	if err != nil {
		return err
	}
	if err := c.seedSums(p.src, p.renewed); err != nil {
		return err
	}
	if err := s.generate(ctx, p, kept, o.Generators); err != nil {
		return err
	}
	s.last.Inputs, s.last.Without = digest, o.Without
	if len(o.Generators) > 0 {
		s.last.Inputs = "" // the output of forced generators may not be the wanted one
	}
	return s.save()
}

// plan is the wanted content of the tree.
type plan struct {
	src *source.Source
	// pristine and want are trees: upstream's files, and all files that the tree must have before the due
	// generators run.
	pristine, want string
	// renewed is true if the last run was for other upstream modules.
	renewed bool
	// digests are hashes of the inputs of generators, by the name of the generator. They contain only
	// generators whose input or code the patches change. due are the names of those that must run.
	digests map[string]string
	due     []string
}

// plan computes the wanted content of the tree.
func (s *session) plan(ctx context.Context, r *revision, o ApplyOptions) (*plan, error) {
	p := &plan{}
	var err error
	if p.src, p.pristine, err = s.upstream(ctx, r.pins); err != nil {
		return nil, err
	}
	p.renewed = s.last.Pristine != p.pristine
	p.want = p.pristine
	inputs := generate.Inputs{Modules: p.src.Identity(), Changed: map[string][]byte{}}
	if !o.Pristine {
		for _, one := range r.series {
			for _, patch := range one.Patches {
				for _, c := range patch.Files {
					if g := generate.WrittenBy(c.Path); g != "" && one.Prefix == project.Kubernetes {
						return nil, fmt.Errorf("%s: changes %s, which %s generates: remove that file from the patch", patch.Name, c.Path, g)
					}
				}
			}
		}
		states, err := s.states(ctx, r.series, p.pristine)
		if err != nil {
			return nil, err
		}
		last := states[len(states)-1]
		p.want = last[len(last)-1]
		if len(r.series[1].Patches) > 0 {
			if inputs.Patches, err = s.repo.Git(ctx, "rev-parse", p.want+":"+strings.TrimSuffix(project.Generators, "/")); err != nil {
				return nil, err
			}
		}
		if err := s.inputs(ctx, p, &inputs); err != nil {
			return nil, err
		}
	}
	p.digests = inputs.Plan(generate.Table, o.Generators...)
	extra := map[string]git.Entry{}
	for _, g := range generate.Table {
		if p.digests[g.Name] == "" {
			continue
		}
		last := s.last.Generators[g.Name]
		if !p.renewed {
			maps.Copy(extra, last.Files)
		}
		if last.Inputs != p.digests[g.Name] || slices.Contains(o.Generators, g.Name) {
			p.due = append(p.due, g.Name)
		}
	}
	if p.want, err = s.repo.Edit(ctx, p.want, extra); err != nil {
		return nil, err
	}
	files, err := workspaces(p.src, r.modules)
	if err != nil {
		return nil, err
	}
	p.want, err = s.repo.Write(ctx, p.want, files)
	return p, err
}

// inputs adds the files that the patches change, and their pristine neighbours, to the inputs of generators.
func (s *session) inputs(ctx context.Context, p *plan, inputs *generate.Inputs) error {
	changes, err := s.repo.Changes(ctx, p.pristine, p.want, project.Kubernetes)
	if err != nil {
		return err
	}
	var paths []string
	dirs := map[string]bool{}
	for _, c := range changes {
		inputs.Changed[strings.TrimPrefix(c.Path, project.Kubernetes)] = nil
		if c.Is != git.Gone {
			paths = append(paths, c.Path)
		}
		dirs[path.Dir(strings.TrimPrefix(c.Path, project.Kubernetes))] = true
	}
	now, err := s.repo.Read(ctx, p.want, paths)
	if err != nil {
		return err
	}
	maps.Copy(inputs.Changed, cutKeys(now, project.Kubernetes))
	if len(dirs) > 0 {
		inputs.Pristine, err = s.read(ctx, p.pristine, project.Kubernetes, slices.Collect(maps.Keys(dirs)))
	}
	return err
}

// write writes and removes files as the plan requires. It returns the files whose edits are kept.
func (s *session) write(ctx context.Context, p *plan, o ApplyOptions) (kept map[string]git.Entry, err error) {
	if s.repo.New() { // files that are already on disk are compared with upstream's
		if _, err := s.repo.Git(ctx, "read-tree", p.pristine); err != nil {
			return nil, err
		}
	}
	now, edits, err := s.edits(ctx)
	if err != nil {
		return nil, err
	}
	known, err := s.known(ctx, p, edits)
	if err != nil {
		return nil, err
	}
	kept, err = settle(edits, known, s.last, o)
	if err != nil {
		return nil, err
	}
	tree, err := s.repo.Edit(ctx, p.want, kept)
	if err != nil {
		return nil, err
	}
	s.last.Inputs, s.last.Writing, s.last.Pristine = "", tree, p.pristine
	if err := s.save(); err != nil {
		return nil, err
	}
	if err := s.repo.Checkout(ctx, now, tree); err != nil {
		return nil, err
	}
	s.last.Tree, s.last.Writing = p.want, ""
	return kept, s.save()
}

// contents are the IDs that edited files have in other trees: in the plan, upstream, and in the tree that an
// interrupted run was about to write.
type contents struct{ want, pristine, pending map[string]string }

func (s *session) known(ctx context.Context, p *plan, edits []git.Change) (k contents, err error) {
	trees := []string{p.want, p.pristine}
	if s.last.Writing != "" {
		trees = append(trees, s.last.Writing)
	}
	for i, target := range []*map[string]string{&k.want, &k.pristine, &k.pending}[:len(trees)] {
		if *target, err = s.ids(ctx, trees[i], edits); err != nil {
			return k, err
		}
	}
	for _, e := range edits { // a run that was killed leaves a part of a file, or none
		id := k.pending[e.Path]
		if id == "" || id == git.Gone || id == e.Was {
			continue
		}
		part, err := s.repo.Blob(ctx, e.Is)
		if err != nil {
			return k, err
		}
		whole, err := s.repo.Blob(ctx, id)
		if err != nil {
			return k, err
		}
		if bytes.HasPrefix(whole, part) {
			k.pending[e.Path] = e.Is
		}
	}
	return k, nil
}

// ids returns the IDs of edited files in a tree.
func (s *session) ids(ctx context.Context, tree string, edits []git.Change) (map[string]string, error) {
	var paths []string
	for _, e := range edits {
		paths = append(paths, e.Path)
	}
	entries, err := s.repo.Entries(ctx, tree, paths)
	ids := map[string]string{}
	for _, path := range paths {
		if ids[path] = git.Gone; entries[path].ID != "" {
			ids[path] = entries[path].ID
		}
	}
	return ids, err
}

// settle decides for each edited file of the tree whether Apply overwrites the file or keeps the edit. It returns
// the files whose edits are kept, and fails if the options allow neither for some file. A file is no edit if an
// interrupted run of this tool wrote its content.
func settle(edits []git.Change, known contents, last *record, o ApplyOptions) (map[string]git.Entry, error) {
	kept := map[string]git.Entry{}
	var open []git.Change
	for _, e := range edits {
		file, inside := strings.CutPrefix(e.Path, project.Kubernetes)
		g, running := generate.Find(last.Running)
		pending, ok := known.pending[e.Path]
		switch {
		case e.Is == known.want[e.Path], ok && e.Is == pending, last.Inputs == "" && e.Is == known.pristine[e.Path]:
		case running && inside && g.Output(file):
		case last.Tree == git.Empty && inside && generate.WrittenBy(file) != "": // nobody edits these, and they are written again
		case o.Discard:
		case o.Keep && known.want[e.Path] == e.Was:
			kept[e.Path] = e.Entry()
		default:
			open = append(open, e)
		}
	}
	if len(open) > 0 {
		return nil, dirty(open)
	}
	return kept, nil
}

// generate runs the generators that are due, and adds their output to the record.
func (s *session) generate(ctx context.Context, p *plan, kept map[string]git.Entry, forced []string) error {
	maps.DeleteFunc(s.last.Generators, func(name string, _ output) bool { return p.digests[name] == "" })
	for _, g := range generate.Table {
		if !slices.Contains(p.due, g.Name) {
			continue
		}
		files, err := s.run(ctx, g, p, kept)
		if err != nil {
			return errors.Join(err, s.save())
		}
		run := output{Inputs: p.digests[g.Name], Files: files}
		if len(kept) > 0 {
			run.Inputs = "" // the generator may have read edits that the digest does not include
		}
		s.last.Generators[g.Name] = run
		if err := s.save(); err != nil {
			return err
		}
		if slices.Contains(forced, g.Name) {
			for _, file := range slices.Sorted(maps.Keys(files)) {
				fmt.Fprintf(s.Out, "%s: differs from upstream: %s\n", g.Name, file)
			}
		}
	}
	return nil
}

// run runs a generator, and returns its files that differ from upstream's. If the generator fails, the tree is as
// before. If it changed a file that the table of generators does not list as its output, run fails as well.
func (s *session) run(ctx context.Context, g generate.Generator, p *plan, kept map[string]git.Entry) (map[string]git.Entry, error) {
	before, err := s.repo.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.repo.List(ctx, before)
	if err != nil {
		return nil, err
	}
	stats := map[string]os.FileInfo{}
	for file := range all {
		if rel, ok := strings.CutPrefix(file, project.Kubernetes); ok && generate.WrittenBy(rel) != "" {
			if stats[file], err = os.Stat(s.Project.Path(file)); err != nil {
				return nil, err
			}
		}
	}
	s.last.Running = g.Name
	if err := s.save(); err != nil {
		return nil, err
	}
	done := s.step("running " + g.Name)
	failed := g.Run(ctx, generate.Env{Go: p.src.GoCommand(), Project: s.Project})
	after, err := s.repo.Snapshot(ctx)
	if err == nil && failed != nil {
		after, err = before, s.repo.Checkout(ctx, after, before)
	}
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	s.last.Running = ""
	wrote, others, err := s.outputs(ctx, g, before, after, kept)
	if err != nil {
		return nil, err
	}
	for file, info := range stats {
		if _, ok := wrote[file]; !ok { // at most written again, with the same content
			err = errors.Join(err, os.Chtimes(s.Project.Path(file), info.ModTime(), info.ModTime()))
		}
	}
	if s.last.Tree, err = s.repo.Edit(ctx, s.last.Tree, wrote); err != nil || failed != nil {
		return nil, errors.Join(failed, err)
	}
	if len(others) > 0 {
		return nil, fmt.Errorf("%s: changed files that its entry in the table of generators does not name:%s", g.Name, describe(others))
	}
	done()
	files, _, err := s.outputs(ctx, g, p.pristine, after, kept)
	return files, err
}

// outputs returns the outputs of a generator that differ between two trees, without edits that are kept, and the
// other files that differ.
func (s *session) outputs(ctx context.Context, g generate.Generator, before, after string, kept map[string]git.Entry) (map[string]git.Entry, []git.Change, error) {
	changes, err := s.repo.Changes(ctx, before, after)
	files, others := map[string]git.Entry{}, []git.Change{}
	for _, c := range changes {
		rel, inside := strings.CutPrefix(c.Path, project.Kubernetes)
		if _, edited := kept[c.Path]; inside && !edited && g.Output(rel) {
			files[c.Path] = c.Entry()
		} else {
			others = append(others, c)
		}
	}
	return files, others, err
}
