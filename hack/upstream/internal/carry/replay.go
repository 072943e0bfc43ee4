// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"kube-granular.dev/hack/upstream/internal/gitrepo"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
)

// replay applies a series to another upstream version.
type replay struct {
	series      *series.Series
	old, target *source.Source
	// resolved returns the content to which a person resolved the conflict of a patch in a file.
	// It returns false if nobody resolved it.
	resolved func(patch, file string) (series.Content, bool, error)

	// before are the states after each patch on the old version, and after those on the new
	// version. If a patch has an unresolved conflict in a file, after has that file without the
	// change of the patch.
	before, after []series.State
	conflicts     []*clash
	// written are the patches whose text changes.
	written map[string][]byte
	// failed is the first patch that has a conflict, by file.
	failed map[string]*series.Patch
}

// clash is a conflict that rebase found.
type clash struct {
	series.Conflict
	// Places is the number of conflicting places in the file.
	Places int
	// Merged is the content of the file with conflict markers. It is nil if the conflict has no
	// file, such as a marker that can't be written.
	Merged []byte
	// Removed is true if one side has removed the file.
	Removed bool
	// After is the name of the first patch of the series that has a conflict in the same file, if
	// that is an earlier patch. The earlier conflict may be the cause of this conflict.
	After string
}

func (c *clash) Error() string {
	text := c.Err.Error()
	if c.Path != "" {
		text = c.Conflict.Error()
	}
	if c.Places > 1 {
		text += fmt.Sprintf(", and %d more places", c.Places-1)
	}
	if c.After != "" {
		text += "; the conflict of " + c.After + " may be the cause"
	}
	return text
}

// run replays the series, patch by patch, and does not stop at conflicts.
func (r *replay) run(ctx context.Context) (err error) {
	r.written, r.failed = map[string][]byte{}, map[string]*series.Patch{}
	if len(r.series.Patches) == 0 {
		return nil
	}
	if r.before, err = r.series.ApplyLeniently(pristine(ctx, r.old, r.series)); err != nil {
		return err
	}
	base := series.State{}
	for file := range r.before[0] {
		if m, lacks := r.target.Lacks(r.series.Prefix + file); lacks {
			return fmt.Errorf("%s %s cannot be downloaded, and the series changes %s in it", m, r.target.Pins.Version, file)
		}
		if base[file], err = pristine(ctx, r.target, r.series).Read(file); err != nil {
			return err
		}
	}
	repo, err := gitrepo.New(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	commits, err := commit(ctx, repo, "old", r.series, r.before)
	if err != nil {
		return err
	}
	if err := repo.Orphan(ctx, "new"); err != nil {
		return err
	}
	if _, err := repo.Commit(ctx, base, "pristine\n"); err != nil {
		return err
	}
	r.after = []series.State{base}
	for i, p := range r.series.Patches {
		step := func() error { return r.pick(ctx, repo, p, commits[i+1]) }
		if p.Markers != nil {
			step = func() error { return r.mark(ctx, repo, p) }
		}
		if err := step(); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	problems, err := r.series.Roots(r.after[len(r.after)-1], pristine(ctx, r.target, r.series))
	if err != nil {
		return err
	}
	for _, why := range problems {
		r.conflicts = append(r.conflicts, &clash{Conflict: series.Conflict{Err: why}})
	}
	return r.render(ctx, repo)
}

// mark applies a file of markers to the new version. Markers are comments that declare permissions.
func (r *replay) mark(ctx context.Context, repo *gitrepo.Repo, p *series.Patch) error {
	last := r.after[len(r.after)-1]
	next, found, problems, err := p.Mark(last, pristine(ctx, r.target, r.series))
	if err != nil {
		return err
	}
	series.Learn(r.after, found)
	for _, why := range problems {
		r.conflicts = append(r.conflicts, &clash{Conflict: series.Conflict{Patch: p.Name, Err: why}})
	}
	r.after = append(r.after, next)
	_, err = repo.Commit(ctx, next, p.Header.Message())
	return err
}

// pick replays one mail patch on the new version. A file whose conflict a person has resolved gets
// the resolved content. A file with an unresolved conflict keeps the content that it had before
// the patch.
func (r *replay) pick(ctx context.Context, repo *gitrepo.Repo, p *series.Patch, commit string) error {
	last := r.after[len(r.after)-1]
	files, err := repo.Pick(ctx, commit)
	if err != nil {
		return err
	}
	settled := series.State{}
	clashes := 0
	for _, file := range files {
		have := last[file]
		first, failed := r.failed[file]
		if content, ok, err := r.resolved(p.Name, file); err != nil {
			return err
		} else if ok && !failed {
			content.Executable = have.Executable
			settled[file] = content
			continue
		}
		settled[file] = have
		if _, ok := last[file]; !ok {
			settled[file] = series.Content{Absent: true}
		}
		c, err := r.clash(repo, p, file, have)
		if err != nil {
			return err
		}
		if failed {
			c.After = first.Name
		} else {
			r.failed[file] = p
		}
		clashes++
		r.conflicts = append(r.conflicts, c)
	}
	if len(files) > 0 {
		if err := repo.Settle(ctx, settled); err != nil {
			return err
		}
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return err
	}
	paths := slices.Collect(maps.Keys(last))
	for _, c := range p.Files {
		if _, ok := last[c.Path]; !ok {
			paths = append(paths, c.Path)
		}
	}
	next, err := repo.State(ctx, head, paths)
	if err != nil {
		return err
	}
	if clashes == 0 && unchanged(p, last, next) {
		r.conflicts = append(r.conflicts, &clash{Conflict: series.Conflict{Patch: p.Name, Err: fmt.Errorf(
			"%s: %s %s already has all of it: remove it and its line in %s/series, then rebase again",
			p.Name, source.Kubernetes, r.target.Pins.Version, path.Dir(p.Name))}})
	}
	r.after = append(r.after, next)
	return nil
}

// clash returns the conflict that a patch has in a file of the new version. have is the content of
// that file before the patch.
func (r *replay) clash(repo *gitrepo.Repo, p *series.Patch, file string, have series.Content) (*clash, error) {
	merged, err := repo.Conflicted(file)
	if err != nil {
		return nil, err
	}
	c := &clash{Conflict: series.Conflict{Patch: p.Name, Path: file}, Places: bytes.Count(append([]byte("\n"), merged.Data...), []byte("\n<<<<<<< ")), Merged: label(merged.Data, p, r)}
	if change := p.Touches(file); change != nil {
		c.Line = change.Locate(have.Data)
	}
	before, _, marked := bytes.Cut(append([]byte("\n"), merged.Data...), []byte("\n<<<<<<< "))
	version := source.Kubernetes + " " + r.target.Pins.Version
	c.Removed = have.Absent || !marked
	switch {
	case have.Absent:
		c.Err = fmt.Errorf("%s does not have this file", version)
	case !marked:
		c.Err = fmt.Errorf("the patch removes it, and %s changes it", version)
	default:
		c.Err = fmt.Errorf("%s changed the same place, line %d", version, bytes.Count(before, []byte("\n"))+1)
	}
	return c, nil
}

// label adds the versions and the name of the patch to the conflict markers in a file. If one side
// removed the file, git writes no conflict markers. label then puts a line at the top of the file
// that a person must delete.
func label(merged []byte, p *series.Patch, r *replay) []byte {
	const ours, base, theirs = "<<<<<<< ", "||||||| ", ">>>>>>> "
	var out bytes.Buffer
	found := false
	for line := range bytes.Lines(merged) {
		switch {
		case bytes.HasPrefix(line, []byte(ours)):
			found = true
			fmt.Fprintf(&out, "%s%s, with the earlier patches\n", ours, r.target.Pins.Version)
		case bytes.HasPrefix(line, []byte(base)):
			fmt.Fprintf(&out, "%s%s, with the earlier patches\n", base, r.old.Pins.Version)
		case bytes.HasPrefix(line, []byte(theirs)):
			fmt.Fprintf(&out, "%s%s\n", theirs, p.Name)
		default:
			out.Write(line)
		}
	}
	if !found {
		return append(fmt.Appendf(nil, "%sone side removed this file: delete this line to keep the file, or delete the file\n", ours), out.Bytes()...)
	}
	return out.Bytes()
}

// render writes each patch without a conflict in its form for the new version, and stores the text
// in r.written if it differs from the present text.
func (r *replay) render(ctx context.Context, repo *gitrepo.Repo) error {
	for i, p := range r.series.Patches {
		if p.Markers != nil || slices.ContainsFunc(r.conflicts, func(c *clash) bool { return c.Patch == p.Name }) {
			continue
		}
		raw, err := renderPatch(ctx, repo, p, r.after[i], r.after[i+1])
		if err != nil {
			return err
		}
		if string(raw) != string(p.Raw) {
			r.written[p.Name] = raw
		}
	}
	return nil
}

func unchanged(p *series.Patch, before, after series.State) bool {
	for _, change := range p.Files {
		if !before[change.Path].Equal(after[change.Path]) {
			return false
		}
	}
	return true
}
