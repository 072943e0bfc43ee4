// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"slices"
	"testing"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/hack/permissions/vocabulary"
)

// ancestors returns the names of the fields above a permission's field, up to the root of the
// scope that contains it.
func ancestors(t *testing.T, place schema.NodePath) []string {
	t.Helper()
	v := load(t)
	for len(place) > 1 && place.Node().Field == "" {
		place = place[:len(place)-1] // replace an element by its list
	}
	var out []string
	for _, up := range slices.Backward(place[:len(place)-1]) {
		for _, p := range up.Own() {
			if scope, base := v.Split(p.Name); scope != "" && base == "" {
				return out
			}
		}
		if up.Field != "" {
			out = append(out, up.Field)
		}
	}
	return out
}

// TestNames checks that the names of all permissions follow the style guide of KEP-3617, and
// that the vocabulary has no unused entries.
func TestNames(t *testing.T) {
	v := load(t)
	met, scopes, nouns := map[string]bool{}, map[string]bool{}, map[string]bool{}
	wrong := map[string]bool{}
	for _, k := range kinds {
		for place := range k.Tree.NodePaths() {
			n := place.Node()
			for _, p := range n.Own() {
				scope, base := v.Split(p.Name)
				met[base], scopes[scope] = true, true
				if err := v.CheckStyle(p.Name, k.Kind, ancestors(t, place)); err != nil && !wrong[p.Name+err.Error()] {
					wrong[p.Name+err.Error()] = true
					t.Errorf("%s: %s: permission %q: %v", k.ID(), place.Pattern(), p.Name, err)
				}
				if _, err := v.Meaning(p.Name); err != nil && !wrong[p.Name] {
					wrong[p.Name] = true
					t.Error(err)
				}
			}
		}
	}
	for name := range met {
		if name != "" {
			nouns[last(name)] = true
		}
	}
	for scope := range scopes {
		if scope != "" {
			nouns[last(scope)] = true
		}
	}
	for name := range v.Permissions {
		if !met[name] {
			t.Errorf("the vocabulary describes %q, which nothing has", name)
		}
	}
	for scope := range v.Scopes {
		if !scopes[scope] {
			t.Errorf("the vocabulary describes the scope %q, which nothing has", scope)
		}
	}
	for _, noun := range v.Nouns {
		if !nouns[noun] {
			t.Errorf("the vocabulary lists the noun %q, which nothing needs", noun)
		}
	}
}

func last(name string) string {
	words := vocabulary.Words(name)
	return words[len(words)-1]
}
