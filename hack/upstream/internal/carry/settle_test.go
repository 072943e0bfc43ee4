// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"testing"

	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/project"
)

// TestSettle checks that a file is overwritten only if the tool wrote its content, was about to
// write it, or was interrupted before it could record it, or if edits are discarded.
func TestSettle(t *testing.T) {
	const file, generated = project.Kubernetes + "a.go", project.Kubernetes + "v1/zz_generated.deepcopy.go"
	const refused, taken, kept = "refused", "taken", "kept"
	for _, tt := range []struct {
		name     string
		edit     git.Change
		manifest record
		pending  map[string]string
		wanted   string
		options  ApplyOptions
		want     string
	}{
		{name: "edited", edit: git.Change{Path: file, Was: "old", Is: "mine"}, manifest: record{Inputs: "x"}, wanted: "old", want: refused},
		{name: "discarded", edit: git.Change{Path: file, Was: "old", Is: "mine"}, manifest: record{Inputs: "x"}, wanted: "old", options: ApplyOptions{Discard: true}, want: taken},
		{name: "kept", edit: git.Change{Path: file, Was: "old", Is: "mine"}, manifest: record{Inputs: "x"}, wanted: "old", options: ApplyOptions{Keep: true}, want: kept},
		{name: "kept, but wanted otherwise", edit: git.Change{Path: file, Was: "old", Is: "mine"}, manifest: record{Inputs: "x"}, wanted: "new", options: ApplyOptions{Keep: true}, want: refused},
		{name: "as wanted", edit: git.Change{Path: file, Was: "old", Is: "new"}, manifest: record{Inputs: "x"}, wanted: "new", want: taken},
		{name: "pristine by hand", edit: git.Change{Path: file, Was: "old", Is: "pristine"}, manifest: record{Inputs: "x"}, wanted: "old", want: refused},
		{name: "pristine, interrupted", edit: git.Change{Path: file, Was: git.Gone, Is: "pristine"}, wanted: "new", want: taken},
		{name: "edited, interrupted", edit: git.Change{Path: file, Was: "old", Is: "mine"}, wanted: "old", want: refused},
		{name: "pending, interrupted", edit: git.Change{Path: file, Was: "old", Is: "half"}, pending: map[string]string{file: "half"}, wanted: "new", want: taken},
		{name: "removed", edit: git.Change{Path: file, Was: "old", Is: git.Gone}, manifest: record{Inputs: "x"}, wanted: "old", want: refused},
		{name: "generated", edit: git.Change{Path: generated, Was: "old", Is: "mine"}, manifest: record{Inputs: "x"}, wanted: "old", want: refused},
		{name: "generated, interrupted", edit: git.Change{Path: generated, Was: "old", Is: git.Gone}, manifest: record{Running: "deepcopy-gen"}, wanted: "old", want: taken},
		{name: "not generated, interrupted", edit: git.Change{Path: file, Was: "old", Is: "mine"}, manifest: record{Running: "deepcopy-gen"}, wanted: "old", want: refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			known := contents{
				pristine: map[string]string{file: "pristine", generated: "pristine"},
				want:     map[string]string{tt.edit.Path: tt.wanted},
				pending:  tt.pending,
			}
			got := taken
			left, err := settle([]git.Change{tt.edit}, known, &tt.manifest, tt.options)
			_, stays := left[tt.edit.Path]
			switch {
			case err != nil:
				got = refused
			case stays:
				got = kept
			}
			if got != tt.want {
				t.Errorf("%s, want %s (%v)", got, tt.want, err)
			}
		})
	}
}

// TestSettleReleases checks that, if the only copy of a generated file was replaced by an edit that
// is discarded, the generator must run again, and all its files start from upstream's content.
