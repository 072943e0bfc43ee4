// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"testing"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/tree"
)

// TestSettle checks that a file is overwritten only if the tool wrote its content, was about to
// write it, or was interrupted before it could record it, or if edits are discarded.
func TestSettle(t *testing.T) {
	const file, generated = project.Kubernetes + "a.go", project.Kubernetes + "v1/zz_generated.deepcopy.go"
	const refused, taken, kept = "refused", "taken", "kept"
	for _, tt := range []struct {
		name     string
		edit     tree.Edit
		manifest tree.Manifest
		wanted   string
		options  ApplyOptions
		want     string
	}{
		{name: "edited", edit: tree.Edit{Tree: file, Was: "old", Is: "mine"}, manifest: tree.Manifest{Inputs: "x"}, wanted: "old", want: refused},
		{name: "discarded", edit: tree.Edit{Tree: file, Was: "old", Is: "mine"}, manifest: tree.Manifest{Inputs: "x"}, wanted: "old", options: ApplyOptions{Discard: true}, want: taken},
		{name: "kept", edit: tree.Edit{Tree: file, Was: "old", Is: "mine"}, manifest: tree.Manifest{Inputs: "x"}, wanted: "old", options: ApplyOptions{Keep: true}, want: kept},
		{name: "kept, but wanted otherwise", edit: tree.Edit{Tree: file, Was: "old", Is: "mine"}, manifest: tree.Manifest{Inputs: "x"}, wanted: "new", options: ApplyOptions{Keep: true}, want: refused},
		{name: "as wanted", edit: tree.Edit{Tree: file, Was: "old", Is: "new"}, manifest: tree.Manifest{Inputs: "x"}, wanted: "new", want: taken},
		{name: "pristine by hand", edit: tree.Edit{Tree: file, Was: "old", Is: "pristine"}, manifest: tree.Manifest{Inputs: "x"}, wanted: "old", want: refused},
		{name: "pristine, interrupted", edit: tree.Edit{Tree: file, Was: tree.Gone, Is: "pristine"}, wanted: "new", want: taken},
		{name: "edited, interrupted", edit: tree.Edit{Tree: file, Was: "old", Is: "mine"}, wanted: "old", want: refused},
		{name: "pending, interrupted", edit: tree.Edit{Tree: file, Was: "old", Is: "half"}, manifest: tree.Manifest{Pending: map[string]string{file: "half"}}, wanted: "new", want: taken},
		{name: "removed", edit: tree.Edit{Tree: file, Was: "old", Is: tree.Gone}, manifest: tree.Manifest{Inputs: "x"}, wanted: "old", want: refused},
		{name: "generated", edit: tree.Edit{Tree: generated, Was: "old", Is: "mine"}, manifest: tree.Manifest{Inputs: "x"}, wanted: "old", want: refused},
		{name: "generated, interrupted", edit: tree.Edit{Tree: generated, Was: "old", Is: tree.Gone}, manifest: tree.Manifest{Running: "deepcopy-gen"}, wanted: "old", want: taken},
		{name: "not generated, interrupted", edit: tree.Edit{Tree: file, Was: "old", Is: "mine"}, manifest: tree.Manifest{Running: "deepcopy-gen"}, wanted: "old", want: refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &plan{
				pristine: map[string]string{file: "pristine", generated: "pristine"},
				want:     map[string]string{tt.edit.Tree: tt.wanted},
				held:     map[string]generate.Generator{},
			}
			got := taken
			left, err := p.settle(&tt.manifest, []tree.Edit{tt.edit}, tt.options)
			switch {
			case err != nil:
				got = refused
			case left[tt.edit.Tree]:
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
func TestSettleReleases(t *testing.T) {
	g, ok := generate.Find("deepcopy-gen")
	if !ok {
		t.Fatal("no deepcopy-gen")
	}
	const a, b = project.Kubernetes + "a/zz_generated.deepcopy.go", project.Kubernetes + "b/zz_generated.deepcopy.go"
	p := &plan{
		pristine: map[string]string{a: "pristine"},
		want:     map[string]string{a: "generated", b: "generated"},
		held:     map[string]generate.Generator{a: g, b: g},
	}
	if _, err := p.settle(&tree.Manifest{Inputs: "x"}, []tree.Edit{{Tree: a, Was: "generated", Is: "mine"}}, ApplyOptions{Discard: true}); err != nil {
		t.Fatal(err)
	}
	if len(p.due) != 1 || p.due[0].Name != g.Name {
		t.Errorf("due: %d generators", len(p.due))
	}
	if p.wanted(a) != "pristine" || p.wanted(b) != tree.Gone {
		t.Errorf("wanted: %s and %s", p.wanted(a), p.wanted(b))
	}
}
