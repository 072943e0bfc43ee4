// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/project"
)

// ApplyOptions select how Apply makes the tree.
type ApplyOptions struct {
	// Without are the names of the folders of the series to leave out.
	Without []string
	// Discard overwrites edited files. Keep leaves edited files as they are, and makes Apply fail if it would
	// have to overwrite an edited file. If both are false and the tree has edits, Apply fails.
	Discard, Keep bool
	// Generators are the names of generators that run even if their output is up to date. They run on the present
	// tree, with its folders.
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
		o.Without = s.last.Without
	}
	r, err := c.load(c.Project.Read, o.Without...)
	if err != nil {
		return err
	}
	digest := r.digest()
	if s.last.Inputs == digest && len(o.Generators) == 0 && !c.sumsMissing() {
		switch _, edits, err := s.edits(ctx); {
		case err != nil:
			return err
		case len(edits) > 0 && !o.Discard:
			return dirty(edits)
		case len(edits) == 0:
			s.last.Without = o.Without // a folder that does not exist makes no difference
			return s.save()
		}
	}
	p, err := s.plan(ctx, r, o.Generators)
	if err != nil {
		return err
	}
	kept, err := s.write(ctx, p, o)
	if err != nil {
		return err
	}
	if err := c.seedSums(r.src, p.renewed); err != nil {
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
	*revision
	// want is the tree of all files that the tree must have before the due generators run.
	want string
	// renewed is true if the last run was for other upstream modules.
	renewed bool
	// digests are hashes of the inputs of generators, by the name of the generator. They contain only
	// generators whose input or code the patches change. due are those that must run.
	digests map[string]string
	due     []generate.Generator
}

// plan computes the wanted content of the tree.
func (s *session) plan(ctx context.Context, r *revision, forced []string) (*plan, error) {
	for _, patch := range r.series[0].Patches { // those for Kubernetes
		for _, c := range patch.Files {
			if g := generate.WrittenBy(c.Path); g != "" {
				return nil, fmt.Errorf("%s: changes %s, which %s generates: remove that file from the patch", patch.Name, c.Path, g)
			}
		}
	}
	if err := s.apply(ctx, r); err != nil {
		return nil, err
	}
	p := &plan{revision: r, want: r.trees[len(r.trees)-1], renewed: s.last.Pristine != r.pristine}
	inputs, err := s.inputs(ctx, p)
	if err != nil {
		return nil, err
	}
	p.digests = inputs.Plan(generate.Table, forced...)
	extra := map[string]git.Entry{}
	for _, g := range generate.Table {
		if p.digests[g.Name] == "" {
			continue
		}
		last := s.last.Generators[g.Name]
		if !p.renewed {
			maps.Copy(extra, last.Files)
		}
		if last.Inputs != p.digests[g.Name] || slices.Contains(forced, g.Name) {
			p.due = append(p.due, g)
		}
	}
	works, err := workspaces(r.src, r.modules)
	if err != nil {
		return nil, err
	}
	for file, data := range works {
		extra[file] = git.Entry{Mode: git.Executable(false), Data: data}
	}
	p.want, err = s.repo.Edit(ctx, p.want, extra)
	return p, err
}

// inputs returns the inputs of generators: the files that the patches change, and their pristine neighbours.
func (s *session) inputs(ctx context.Context, p *plan) (all generate.Inputs, err error) {
	all = generate.Inputs{Modules: p.src.Identity(), Changed: map[string][]byte{}}
	if len(p.series[1].Patches) > 0 {
		if all.Patches, err = s.repo.Git(ctx, "rev-parse", p.want+":"+strings.TrimSuffix(project.Generators, "/")); err != nil {
			return all, err
		}
	}
	changes, err := s.repo.Changes(ctx, p.pristine, p.want, project.Kubernetes)
	if err != nil {
		return all, err
	}
	var paths []string
	dirs := map[string]bool{}
	for _, c := range changes {
		file := strings.TrimPrefix(c.Path, project.Kubernetes)
		all.Changed[file], dirs[path.Dir(file)] = nil, true
		paths = append(paths, c.Path)
	}
	now, err := s.repo.Read(ctx, p.want, paths)
	if err != nil {
		return all, err
	}
	maps.Copy(all.Changed, cutKeys(now, project.Kubernetes))
	all.Pristine, err = s.read(ctx, p.pristine, slices.Collect(maps.Keys(dirs)))
	return all, err
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
	if kept, err = settle(edits, known, s.last, o); err != nil {
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
	if k.want, err = s.ids(ctx, p.want, edits); err != nil {
		return k, err
	}
	if k.pristine, err = s.ids(ctx, p.pristine, edits); err != nil || s.last.Writing == "" {
		return k, err
	}
	if k.pending, err = s.ids(ctx, s.last.Writing, edits); err != nil {
		return k, err
	}
	for _, e := range edits { // a run that was killed leaves a part of a file, or none
		id := k.pending[e.Path]
		if id == git.Gone || id == e.Was {
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

// ids returns the IDs that edited files have in a tree.
func (s *session) ids(ctx context.Context, tree string, edits []git.Change) (map[string]string, error) {
	var paths []string
	for _, e := range edits {
		paths = append(paths, e.Path)
	}
	entries, err := s.repo.Entries(ctx, tree, paths)
	ids := map[string]string{}
	for _, file := range paths {
		ids[file] = cmp.Or(entries[file].ID, git.Gone)
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
		writer := ""
		if file, ok := strings.CutPrefix(e.Path, project.Kubernetes); ok {
			writer = generate.WrittenBy(file)
		}
		pending, ok := known.pending[e.Path]
		switch {
		case e.Is == known.want[e.Path], ok && e.Is == pending, last.Inputs == "" && e.Is == known.pristine[e.Path]:
		case writer != "" && writer == last.Running:
		case writer != "" && last.Tree == git.Empty: // nobody edits these, and they are written again
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
