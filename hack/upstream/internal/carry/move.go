// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
)

// move replays a series on another upstream version.
type move struct {
	*session
	series *series.Series
	begun  *inProgress
	// old is the version of the series, and target the new one.
	old    string
	target *source.Source

	conflicts []*clash
	// failed is the name of the first patch that has a conflict, by file.
	failed map[string]string
	// written are the patches whose text changes.
	written map[string][]byte
	// by are the patches that change a file on one of the versions, by the tree path of the file.
	by map[string][]*series.Patch
}

// clash is a conflict that a rebase found.
type clash struct {
	series.Conflict
	// places is the number of conflicting places in the file.
	places int
	// merged is the content of the file with conflict markers. It is nil if the conflict has no file, such as a
	// marker that can't be written. removed is true if one side has removed the file.
	merged  []byte
	removed bool
	// after is the name of the first patch with a conflict in the same file, if that is an earlier one. The
	// earlier conflict may be the cause of this one.
	after string
}

func (c *clash) Error() string {
	text := c.Err.Error()
	if c.Path != "" {
		text = c.Conflict.Error()
	}
	if c.places > 1 {
		text += fmt.Sprintf(", and %d more places", c.places-1)
	}
	if c.after != "" {
		text += "; the conflict of " + c.after + " may be the cause"
	}
	return text
}

// run replays the series, patch by patch, and does not stop at conflicts. It returns the results on both versions.
func (m *move) run(ctx context.Context, old, now string) (string, string, error) {
	before, _, err := m.session.series(ctx, m.series, old)
	if err != nil {
		return "", "", err
	}
	m.note()
	for _, p := range m.series.Patches {
		for _, c := range p.Files {
			if module, lacks := m.target.Lacks(m.series.Prefix + c.Path); lacks {
				return "", "", fmt.Errorf("%s %s cannot be downloaded, and the series changes %s in it", module, m.target.Pins.Version, c.Path)
			}
		}
	}
	for i, p := range m.series.Patches {
		after, err := "", error(nil)
		if p.Markers != nil {
			var problems []error
			after, problems, err = m.mark(ctx, m.series, p, now)
			for _, why := range problems {
				m.conflicts = append(m.conflicts, &clash{Conflict: series.Conflict{Patch: p.Name, Err: why}})
			}
		} else {
			after, err = m.pick(ctx, p, before[i], before[i+1], now)
		}
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", p.Name, err)
		}
		now = after
	}
	m.note()
	problems, err := m.roots(ctx, m.series, now)
	for _, why := range problems {
		m.conflicts = append(m.conflicts, &clash{Conflict: series.Conflict{Err: why}})
	}
	return before[len(before)-1], now, err
}

// pick replays one mail patch on the new version, and stores its text there if it differs. A file whose conflict a
// person has resolved gets the resolved content. A file with an unresolved conflict stays without the patch.
func (m *move) pick(ctx context.Context, p *series.Patch, base, theirs, ours string) (string, error) {
	after, files, err := m.repo.Merge(ctx, base, ours, theirs)
	if err != nil {
		return "", err
	}
	have, err := m.repo.Entries(ctx, ours, files)
	if err != nil {
		return "", err
	}
	merged, err := m.repo.Read(ctx, after, files)
	if err != nil {
		return "", err
	}
	clashes, settled := len(m.conflicts), map[string]git.Entry{}
	for _, full := range files {
		file := strings.TrimPrefix(full, m.series.Prefix)
		first, failed := m.failed[file]
		data, ok, err := m.resolved(m.begun, p.Name, file)
		if err != nil {
			return "", err
		}
		if settled[full] = have[full]; ok && !failed {
			if settled[full] = (git.Entry{}); data != nil {
				ids, err := m.repo.Store(ctx, map[string][]byte{full: data})
				if err != nil {
					return "", err
				}
				settled[full] = git.Entry{Mode: git.Executable(have[full].Mode == "100755"), ID: ids[full]}
			}
			continue
		}
		stored, err := m.repo.Read(ctx, ours, []string{full})
		if err != nil {
			return "", err
		}
		c := m.clash(p, file, stored[full], merged[full], have[full].ID == "")
		if c.after = first; !failed {
			m.failed[file] = p.Name
		}
		m.conflicts = append(m.conflicts, c)
	}
	if after, err = m.repo.Edit(ctx, after, settled); err != nil || len(m.conflicts) > clashes {
		return after, err
	}
	if after == ours {
		m.conflicts = append(m.conflicts, &clash{Conflict: series.Conflict{Patch: p.Name, Err: fmt.Errorf(
			"%s: %s %s already has all of it: remove it and its line in %s/series, then rebase again",
			p.Name, source.Kubernetes, m.target.Pins.Version, path.Dir(p.Name))}})
		return after, nil
	}
	raw, err := m.text(ctx, m.series, p, ours, after)
	if err == nil && string(raw) != string(p.Raw) {
		m.written[p.Name] = raw
	}
	return after, err
}

// clash returns the conflict that a patch has in a file of the new version. was is the content of that file before
// the patch, and merged that with conflict markers.
func (m *move) clash(p *series.Patch, file string, stored, merged []byte, absent bool) *clash {
	const ours, base, theirs = "<<<<<<< ", "||||||| ", ">>>>>>> "
	c := &clash{Conflict: series.Conflict{Patch: p.Name, Path: file}}
	if change := p.Touches(file); change != nil {
		c.Line = change.Locate(stored)
	}
	var out bytes.Buffer
	first, number := 0, 0
	for line := range bytes.Lines(merged) {
		number++
		switch {
		case bytes.HasPrefix(line, []byte(ours)):
			if c.places++; first == 0 {
				first = number
			}
			fmt.Fprintf(&out, "%s%s, with the earlier patches\n", ours, m.target.Pins.Version)
		case bytes.HasPrefix(line, []byte(base)):
			fmt.Fprintf(&out, "%s%s, with the earlier patches\n", base, m.old)
		case bytes.HasPrefix(line, []byte(theirs)):
			fmt.Fprintf(&out, "%s%s\n", theirs, p.Name)
		default:
			out.Write(line)
		}
	}
	version := source.Kubernetes + " " + m.target.Pins.Version
	c.removed = absent || c.places == 0
	switch {
	case absent:
		c.Err = fmt.Errorf("%s does not have this file", version)
	case c.places == 0:
		c.Err = fmt.Errorf("the patch removes it, and %s changes it", version)
	default:
		c.Err = fmt.Errorf("%s changed the same place, line %d", version, first)
	}
	c.merged = out.Bytes()
	if c.places == 0 { // git writes no conflict markers
		c.merged = append(fmt.Appendf(nil, "%sone side removed this file: delete this line to keep the file, or delete the file\n", ours), out.Bytes()...)
	}
	return c
}

// note adds the files that the patches change on the version on which they were applied last.
func (m *move) note() {
	for _, p := range m.series.Patches {
		for _, c := range p.Files {
			if file := m.series.Prefix + c.Path; !slices.Contains(m.by[file], p) {
				m.by[file] = append(m.by[file], p)
			}
		}
	}
}

// report prints the files that the series changes and that differ between the two upstream versions, even if there
// is no conflict.
func (m *move) report(ctx context.Context, old, now string) error {
	if len(m.by) == 0 {
		return nil
	}
	lines, err := m.repo.Changed(ctx, old, now, slices.Collect(maps.Keys(m.by)))
	if err != nil || len(lines) == 0 {
		return err
	}
	files := slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		if lines[a] != lines[b] {
			return lines[b] - lines[a]
		}
		return strings.Compare(a, b)
	})
	fmt.Fprintf(m.Out, "%s: %s changes %d of %d files that the series changes, by lines:\n", m.series.Dir, m.target.Pins.Version, len(lines), len(m.by))
	only, sum := 0, 0
	for _, file := range files {
		var names []string
		if !slices.ContainsFunc(m.by[file], func(p *series.Patch) bool { return p.Markers == nil }) {
			only, sum = only+1, sum+lines[file]
			continue
		}
		for _, p := range m.by[file] {
			names = append(names, strings.TrimPrefix(strings.TrimSuffix(p.Name, filepath.Ext(p.Name)), "patches/"))
		}
		fmt.Fprintf(m.Out, "%7d  %s (%s)\n", lines[file], strings.TrimPrefix(file, m.series.Prefix), strings.Join(names, ", "))
	}
	if only > 0 {
		fmt.Fprintf(m.Out, "%7d  in %d files that get markers only\n", sum, only)
	}
	return nil
}
