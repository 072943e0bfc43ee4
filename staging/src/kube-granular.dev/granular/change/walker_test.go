// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"strings"
	"testing"
)

// wrapped is an object with a method UnstructuredContent that is not itself a map.
type wrapped struct{ object map[string]any }

func (w *wrapped) UnstructuredContent() map[string]any { return w.object }

// TestObjectsThatDoNotFit shows that Compare and CompareObserved return an error for objects that
// can't be compared, instead of reporting no changes.
func TestObjectsThatDoNotFit(t *testing.T) {
	const field = `{a: {x-kubernetes-permission-verb: a}}`
	plain := map[string]any{"a": "x"}
	type fits struct {
		A string `json:"a"`
	}
	type fitsToo struct {
		A string `json:"a"`
	}
	for name, test := range map[string]struct {
		old, new any
		want     string
	}{
		"text for an old object":        {"x", plain, "old is a string"},
		"a number for an old object":    {1, plain, "old is a int"},
		"a Go type for an old object":   {&fits{}, plain, "old is a *change.fits"},
		"JSON for an old object":        {plain, &fits{}, "new a *change.fits"},
		"another Go type":               {&fits{}, &fitsToo{}, "new a *change.fitsToo"},
		"text for a new object":         {nil, "x", "new is a string"},
		"no pointer":                    {nil, fits{}, "not a pointer to a struct"},
		"a pointer to something else":   {nil, new(string), "not a pointer to a struct"},
		"no new object":                 {plain, nil, "new is a <nil>"},
		"no new object of a Go type":    {&fits{}, (*fits)(nil), "not a pointer to a struct"},
		"a Go type that does not fit":   {nil, &struct{ B string }{}, "no such field"},
		"no new object that is wrapped": {plain, (*wrapped)(nil), "not a pointer to a struct"},
	} {
		w := walkerFor(t, field)
		for range 2 { // the second time, the Walker has cached its error for the Go type
			if _, err := w.Compare(All, test.old, test.new); err == nil || !strings.Contains(err.Error(), test.want) {
				// A nil *wrapped is refused too, but the text of its error does not matter.
				if name != "no new object that is wrapped" || err == nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if _, err := w.CompareObserved(All, Set{w.Charge("a")}, test.old, test.new); err == nil {
				t.Errorf("%s, as observed: no error", name)
			}
		}
	}
	for name, old := range map[string]any{"nothing": nil, "no wrapped object": (*wrapped)(nil), "no map": map[string]any(nil)} {
		w := walkerFor(t, field)
		for new, what := range map[any]string{&wrapped{plain}: "a wrapped object"} {
			if got := verbs(compareOrFail(t, w, All, old, new)); len(got) != 1 || got[0] != "a .a" {
				t.Errorf("from %s to %s: %v", name, what, got)
			}
		}
	}
}

// TestRootThatIsNoObject shows that Compare returns an error if the root of the tree is not an
// object, so that a write of such a kind is refused.
func TestRootThatIsNoObject(t *testing.T) {
	w := walkerFor(t, `{}`)
	w.Tree().Root.Kind = 0
	if set, err := w.Compare(All, nil, map[string]any{"a": 1}); err == nil || !strings.Contains(err.Error(), "the root is not an object") {
		t.Errorf("%v, %v", set, err)
	}
}
