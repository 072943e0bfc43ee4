// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
)

// transfer replays a series, patch by patch, and does not stop at conflicts. It returns the results on both versions.
func (m *move) transfer(ctx context.Context, one *series.Series, old, now string) (string, string, error) {
	before, _, err := m.series(ctx, one, old)
	if err != nil {
		return "", "", err
	}
	m.note(one)
	for i, p := range one.Patches {
		for _, c := range p.Files {
			if module, lacks := m.target.Lacks(one.Prefix + c.Path); lacks {
				return "", "", fmt.Errorf("%s %s cannot be downloaded, and the series changes %s in it", module, m.To, c.Path)
			}
		}
		if p.Markers != nil {
			var problems []error
			now, problems, err = m.mark(ctx, one, p, now)
			m.fail(p.Name, problems...)
		} else {
			now, err = m.pick(ctx, one, p, before[i], before[i+1], now)
		}
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	m.note(one)
	problems, err := m.roots(ctx, one, now)
	m.fail("", problems...)
	return before[len(before)-1], now, err
}

// fail adds conflicts that are in no file.
func (m *move) fail(patch string, problems ...error) {
	for _, why := range problems {
		m.conflicts = append(m.conflicts, &clash{Conflict: series.Conflict{Patch: patch, Err: why}})
	}
}

// pick replays one mail patch on the new version, and stores its text there if it differs. A file whose conflict a
// person has resolved gets the resolved content. A file with an unresolved conflict stays without the patch.
func (m *move) pick(ctx context.Context, one *series.Series, p *series.Patch, base, theirs, ours string) (string, error) {
	after, files, err := m.repo.Merge(ctx, base, ours, theirs)
	if err != nil {
		return "", err
	}
	have, err1 := m.repo.Entries(ctx, ours, files)
	before, err2 := m.repo.Read(ctx, ours, files)
	merged, err3 := m.repo.Read(ctx, after, files)
	if err := errors.Join(err1, err2, err3); err != nil {
		return "", err
	}
	clashes, settled := len(m.conflicts), map[string]git.Entry{}
	for _, full := range files {
		file := strings.TrimPrefix(full, one.Prefix)
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
	raw, err := m.text(ctx, one, p, ours, after)
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
	for _, at := range undecided.FindAllIndex(merged, -1) {
		if merged[at[0]] != '<' {
			continue
		}
		if c.places++; first == 0 {
			first = 1 + bytes.Count(merged[:at[0]], []byte("\n"))
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
func (m *move) note(one *series.Series) {
	for _, p := range one.Patches {
		for _, c := range p.Files {
			if file := one.Prefix + c.Path; !slices.Contains(m.changing[file], p) {
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
