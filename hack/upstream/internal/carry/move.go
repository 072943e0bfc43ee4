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

	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
)

// transfer replays the patches on a tree of the new version, one by one, and does not stop at conflicts.
func (m *move) transfer(ctx context.Context, now string) (string, error) {
	var err error
	if m.old.trees, _, err = m.replay(ctx, m.old.patches, m.old.pristine); err != nil {
		return "", err
	}
	m.note()
	for i, p := range m.old.patches {
		for _, c := range p.Files {
			if module, lacks := m.target.Lacks(p.Series.Prefix + c.Path); lacks {
				return "", fmt.Errorf("%s %s cannot be downloaded, and the series changes %s in it", module, m.To, c.Path)
			}
		}
		if p.Markers == nil {
			now, err = m.pick(ctx, p, m.old.trees[i], m.old.trees[i+1], now)
		} else {
			var problems []error
			now, problems, err = m.mark(ctx, p, now)
			m.fail(p.Name, problems...)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	m.note()
	problems, err := m.roots(ctx, m.old.patches, now)
	m.fail("", problems...)
	return now, err
}

// fail adds conflicts that are in no file.
func (m *move) fail(patch string, problems ...error) {
	for _, why := range problems {
		m.conflicts = append(m.conflicts, &clash{Conflict: series.Conflict{Patch: patch, Err: why}})
	}
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
	before, err := m.repo.Read(ctx, ours, files)
	if err != nil {
		return "", err
	}
	merged, err := m.repo.Read(ctx, after, files)
	if err != nil {
		return "", err
	}
	clashes, settled := len(m.conflicts), map[string]git.Entry{}
	for _, full := range files {
		file := strings.TrimPrefix(full, p.Series.Prefix)
		data, ok, err := m.resolved(p.Name, file)
		switch _, failed := m.failed[full]; {
		case err != nil:
			return "", err
		case ok && !failed && data == nil:
			settled[full] = git.Entry{}
		case ok && !failed:
			settled[full] = git.Entry{Mode: cmp.Or(have[full].Mode, git.Executable(false)), Data: data}
		default:
			c := m.clash(p, file, before[full], merged[full], have[full].ID == "")
			if c.after = m.failed[full]; !failed {
				m.failed[full] = p.Name
			}
			m.conflicts = append(m.conflicts, c)
			settled[full] = have[full]
		}
	}
	if after, err = m.repo.Edit(ctx, after, settled); err != nil || len(m.conflicts) > clashes {
		return after, err
	}
	if after == ours {
		m.fail(p.Name, fmt.Errorf("%s: %s %s already has all of it: remove it and its line in %s/series, then rebase again",
			p.Name, source.Kubernetes, m.To, path.Dir(p.Name)))
		return after, nil
	}
	raw, err := m.text(ctx, p, ours, after)
	if err == nil && string(raw) != string(p.Raw) {
		m.written[p.Name] = raw
	}
	return after, err
}

// clash returns the conflict that a patch has in a file of the new version. before is the content of that file before
// the patch, and merged that with conflict markers.
func (m *move) clash(p *series.Patch, file string, before, merged []byte, absent bool) *clash {
	c := &clash{Conflict: series.Conflict{Patch: p.Name, Path: file}}
	if change := p.Touches(file); change != nil {
		c.Line = change.Locate(before)
	}
	sides := map[byte]string{'<': m.To + ", with the earlier patches", '|': m.old.pins.Version + ", with the earlier patches", '>': p.Name}
	first := 0
	for i, line := range bytes.Split(merged, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) {
			c.places++
			first = cmp.Or(first, i+1)
		}
	}
	c.merged = undecided.ReplaceAllFunc(merged, func(line []byte) []byte { return fmt.Appendf(nil, "%s %s", line[:7], sides[line[0]]) })
	version := source.Kubernetes + " " + m.To
	switch {
	case absent:
		c.Err = fmt.Errorf("%s does not have this file", version)
	case c.places == 0:
		c.Err = fmt.Errorf("the patch removes it, and %s changes it", version)
	default:
		c.Err = fmt.Errorf("%s changed the same place, line %d", version, first)
	}
	if c.removed = absent || c.places == 0; c.places == 0 { // git writes no conflict markers
		c.merged = append([]byte("<<<<<<< one side removed this file: delete this line to keep the file, or delete the file\n"), c.merged...)
	}
	return c
}

// note adds the files that the patches change on the version on which they were applied last.
func (m *move) note() {
	for _, p := range m.old.patches {
		for _, c := range p.Files {
			if file := p.Series.Prefix + c.Path; !slices.Contains(m.changing[file], p) {
				m.changing[file] = append(m.changing[file], p)
			}
		}
	}
}

// report prints the files that a series changes and that differ between the two upstream versions, even if there
// is no conflict.
func (m *move) report(ctx context.Context, one *series.Series, now string) error {
	all := slices.DeleteFunc(slices.Collect(maps.Keys(m.changing)), func(file string) bool { return !strings.HasPrefix(file, one.Prefix) })
	if len(all) == 0 {
		return nil
	}
	lines, err := m.repo.Changed(ctx, m.old.pristine, now, all)
	if err != nil || len(lines) == 0 {
		return err
	}
	fmt.Fprintf(m.Out, "%s: %s changes %d of %d files that the series changes, by lines:\n", one.Dir, m.To, len(lines), len(all))
	only, sum := 0, 0
	for _, file := range slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		return cmp.Or(lines[b]-lines[a], strings.Compare(a, b))
	}) {
		if !slices.ContainsFunc(m.changing[file], func(p *series.Patch) bool { return p.Markers == nil }) {
			only, sum = only+1, sum+lines[file]
			continue
		}
		var names []string
		for _, p := range m.changing[file] {
			names = append(names, strings.TrimPrefix(strings.TrimSuffix(p.Name, path.Ext(p.Name)), "patches/"))
		}
		fmt.Fprintf(m.Out, "%7d  %s (%s)\n", lines[file], strings.TrimPrefix(file, one.Prefix), strings.Join(names, ", "))
	}
	if only > 0 {
		fmt.Fprintf(m.Out, "%7d  in %d files that get markers only\n", sum, only)
	}
	return nil
}
