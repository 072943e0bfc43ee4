// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/gitrepo"
	"kube-granular.dev/hack/upstream/internal/series"
)

// changedUpstream prints the files that a series changes and that differ between the two upstream
// versions, even if there is no conflict.
func (c *Carry) changedUpstream(ctx context.Context, r *replay) error {
	if len(r.series.Patches) == 0 {
		return nil
	}
	lines, err := r.changed(ctx)
	if err != nil {
		return err
	}
	type entry struct {
		file  string
		lines int
		by    []string
	}
	var patched []entry
	marked, markedLines := 0, 0
	for file, n := range lines {
		e := entry{file: file, lines: n}
		onlyMarked := true
		for _, p := range r.series.Patches {
			if p.Touches(file) != nil {
				e.by = append(e.by, strings.TrimPrefix(strings.TrimSuffix(p.Name, filepath.Ext(p.Name)), "patches/"))
				onlyMarked = onlyMarked && p.Markers != nil
			}
		}
		if onlyMarked {
			marked, markedLines = marked+1, markedLines+n
			continue
		}
		patched = append(patched, e)
	}
	if len(lines) == 0 {
		return nil
	}
	slices.SortFunc(patched, func(a, b entry) int {
		if a.lines != b.lines {
			return b.lines - a.lines
		}
		return strings.Compare(a.file, b.file)
	})
	fmt.Fprintf(c.Out, "%s: %s changes %d of %d files that the series changes, by lines:\n", r.series.Dir, r.target.Pins.Version, len(lines), len(r.after[0]))
	for _, e := range patched {
		fmt.Fprintf(c.Out, "%7d  %s (%s)\n", e.lines, e.file, strings.Join(e.by, ", "))
	}
	if marked > 0 {
		fmt.Fprintf(c.Out, "%7d  in %d files that get markers only\n", markedLines, marked)
	}
	return nil
}

// changed returns, for each file that the series changes, the number of lines that differ between
// the pristine files of the two upstream versions. It counts added and removed lines.
func (r *replay) changed(ctx context.Context) (map[string]int, error) {
	before, after := series.State{}, series.State{}
	for _, base := range []series.State{r.before[0], r.after[0]} {
		for file := range base {
			var err error
			if before[file], err = pristine(ctx, r.old, r.series).Read(file); err != nil {
				return nil, err
			}
			if after[file], err = pristine(ctx, r.target, r.series).Read(file); err != nil {
				return nil, err
			}
		}
	}
	return changedLines(ctx, before, after)
}

// changedLines returns the number of added and removed lines between two states, by file.
func changedLines(ctx context.Context, before, after series.State) (lines map[string]int, err error) {
	repo, err := gitrepo.New(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	return repo.Changed(ctx, before, after)
}
