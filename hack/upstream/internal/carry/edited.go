// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/markers"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
)

// marking returns the files of markers, of some patches, that write into a file.
func marking(patches []*series.Patch, file string) (all []*series.Patch) {
	for _, p := range patches {
		if p.Markers != nil && p.Touches(file) != nil {
			all = append(all, p)
		}
	}
	return all
}

// plain returns the edited file as it must be right after the patch with the index position: without the markers that
// later files of markers write. It fails if these would not write them again at the same places.
func (w *rewrite) plain(ctx context.Context, position int, e git.Change) (git.Entry, error) {
	file := strings.TrimPrefix(e.Path, project.Kubernetes)
	later := marking(w.r.patches[position+1:], file)
	if len(later) == 0 {
		return e.Entry(), nil
	}
	if e.Is == git.Gone {
		return git.Entry{}, fmt.Errorf("%s: the edit removes this file, but %s writes markers into it: change that file of markers",
			e.Path, later[0].Name)
	}
	content, err := w.repo.Blob(ctx, e.Is)
	if err != nil {
		return git.Entry{}, err
	}
	plain := content
	for _, p := range slices.Backward(later) {
		if plain, err = p.Unmark(file, plain); err != nil {
			return git.Entry{}, byHand(e, "\n"+err.Error())
		}
	}
	again := plain
	for _, p := range later {
		if err == nil {
			again, err = p.Remark(file, again)
		}
	}
	if err != nil || string(again) != string(content) {
		return git.Entry{}, fmt.Errorf("%s: markers in it are not at their places: run `%s apply --discard`, and edit again",
			e.Path, command)
	}
	return git.Entry{Mode: e.Mode, Data: plain}, nil
}

func byHand(e git.Change, where string) error {
	return fmt.Errorf("%s: its markers were edited by hand: restore them, change the file of markers that they come from, "+
		"and run `%s apply`:%s", e.Path, command, where)
}

// handwritten returns an error if an edit changes markers (comments that declare permissions) in a file that
// upstream has. A developer must change such markers in the files of markers of the series.
func (w *rewrite) handwritten(ctx context.Context, one *series.Series, e git.Change) error {
	had, err := w.repo.Entries(ctx, w.r.pristine, []string{e.Path})
	if err != nil || len(had) == 0 || e.Was == git.Gone || e.Is == git.Gone || !strings.HasSuffix(e.Path, ".go") {
		return err
	}
	before, err := w.repo.Blob(ctx, e.Was)
	if err != nil {
		return err
	}
	text, err := w.repo.Blob(ctx, e.Is)
	if err != nil || slices.Equal(markers.Lines(before), markers.Lines(text)) {
		return err
	}
	file := strings.TrimPrefix(e.Path, one.Prefix)
	names, lost := "", ""
	for _, p := range slices.Backward(marking(w.r.patches, file)) {
		names = " and " + p.Name + names
		if plain, err := p.Unmark(file, text); err != nil {
			lost = "\n  " + strings.ReplaceAll(err.Error(), "\n", "\n  ") + lost
		} else {
			text = plain
		}
	}
	example := " a file of markers, such as " + path.Join(one.Dir, "markers/NNNN-name.yaml")
	return byHand(e, cmp.Or(lost, strings.TrimPrefix(names, " and"), example))
}
