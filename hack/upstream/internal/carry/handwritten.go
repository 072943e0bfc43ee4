// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/markers"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
)

// insert puts the edited content of a file into the states of the series i: the state after the
// patch with the index at, and the states after all later patches. Later files of markers (lists
// of comments that declare permissions) have already written markers into the content. insert
// first removes these markers and then writes them again, so that they do not become part of the
// patch.
func (w *rewrite) insert(ctx context.Context, src *source.Source, i, at int, file string, content series.Content) error {
	s, st := w.series[i], w.states[i]
	plain := content
	for _, p := range slices.Backward(s.Patches[at+1:]) {
		if p.Markers == nil || p.Touches(file) == nil {
			continue
		}
		if content.Absent {
			return fmt.Errorf("%s%s: the edit removes this file, but %s writes markers into it: change that file of markers", s.Prefix, file, p.Name)
		}
		data, err := p.Unmark(file, plain.Data)
		if err != nil {
			return fmt.Errorf("%s%s: its markers were edited by hand: restore them, change the file of markers that they come from, and run `%s apply`:\n%w", s.Prefix, file, command, err)
		}
		plain.Data = data
	}
	now := plain
	st[at+1][file] = now
	for j := at + 1; j < len(s.Patches); j++ {
		if p := s.Patches[j]; p.Markers != nil && p.Touches(file) != nil {
			before := maps.Clone(st[j])
			before[file] = now
			next, _, problems, err := p.Mark(before, pristine(ctx, src, s))
			if err = errors.Join(err, errors.Join(problems...)); err != nil {
				return err
			}
			now = next[file]
		}
		st[j+1][file] = now
	}
	if !now.Equal(content) {
		return fmt.Errorf("%s%s: markers in it are not at their places: run `%s apply --discard`, and edit again", s.Prefix, file, command)
	}
	return nil
}

// handwritten returns an error if an edit changes markers (comments that declare permissions) in a
// file that upstream has. A developer must change such markers in the files of markers of the
// series.
func handwritten(s *series.Series, file string, pristine, last, content series.Content) error {
	if pristine.Absent || content.Absent || !strings.HasSuffix(file, ".go") {
		return nil
	}
	if slices.Equal(markers.Lines(last.Data), markers.Lines(content.Data)) {
		return nil
	}
	var edited, all []string
	plain := content.Data
	for _, p := range slices.Backward(s.Patches) {
		if p.Markers == nil || p.Touches(file) == nil {
			continue
		}
		all = append([]string{p.Name}, all...)
		if data, err := p.Unmark(file, plain); err != nil {
			edited = append([]string{err.Error()}, edited...)
		} else {
			plain = data
		}
	}
	where := " " + strings.Join(all, " and ")
	switch {
	case len(edited) > 0:
		where = "\n  " + strings.ReplaceAll(strings.Join(edited, "\n"), "\n", "\n  ")
	case len(all) == 0:
		where = " a file of markers, such as " + path.Join(s.Dir, "markers/NNNN-name.yaml")
	}
	return fmt.Errorf("%s%s: its markers were edited by hand: restore them, change the file of markers that they come from, and run `%s apply`:%s",
		s.Prefix, file, command, where)
}
