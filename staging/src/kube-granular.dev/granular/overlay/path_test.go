// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"encoding/json"
	"strings"
	"testing"

	"kube-granular.dev/granular/overlay"
)

// TestParsePath checks the grammar of paths.
func TestParsePath(t *testing.T) {
	for text, want := range map[string]string{
		".spec":                                  "",
		".spec.sources[*].repoURL":               "",
		`.spec.destination["a.b"].c`:             "",
		`["a b"].c`:                              "",
		".spec.limits[*][*]":                     "",
		strings.Repeat(".a", overlay.MaxSteps):   "",
		"." + strings.Repeat("a", 1023):          "",
		".spec.aZ09-_$":                          "",
		"":                                       "empty",
		"spec":                                   "without a dot",
		".":                                      "without a name",
		".spec.":                                 "without a name",
		".spec..a":                               "without a name",
		"[*].a":                                  "begins with [*]",
		".spec[0]":                               "without [*]",
		".spec[]":                                "without [*]",
		`.spec["a"`:                              "without [*]",
		`.spec[""]`:                              "without [*]",
		`.spec["a"]`:                             "needs no quotes",
		`["a\u0020b"]`:                           "no escape",
		`.spec[ "a.b"]`:                          "needs no quotes",
		".spec.a b":                              "must be in a quoted name",
		".spec.a]":                               "must be in a quoted name",
		".spec.ä":                                "without a name",
		strings.Repeat(".a", overlay.MaxSteps+1): "more than 16 steps",
		"." + strings.Repeat("a", 1024):          "longer than",
	} {
		path, err := overlay.ParsePath(text)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want == "" && path.String() != text:
			t.Errorf("%s: becomes %s", text, path)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, wanted %s", text, err, want)
		}
	}
}

// FuzzParsePath checks that each path has one spelling.
func FuzzParsePath(f *testing.F) {
	f.Add(`.spec.sources[*]["a.b"]`)
	f.Add(`["\u0041"]`)
	f.Fuzz(func(t *testing.T, text string) {
		path, err := overlay.ParsePath(text)
		if err == nil && (path.String() != text || len(path) == 0 || len(path) > overlay.MaxSteps) {
			t.Fatalf("%q becomes %q", text, path)
		}
	})
}

// FuzzPathOfNames checks that a path of any names has a spelling that parses to the same names.
func FuzzPathOfNames(f *testing.F) {
	f.Add("spec", "a.b")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, name := range []string{a, b} {
			if data, err := json.Marshal(name); err != nil || name == "" || strings.Contains(string(data), `\ufffd`) {
				return // not text
			}
		}
		path := overlay.Path{{Name: a}, {Every: true}, {Name: b}}
		text := path.String()
		if len(text) > overlay.MaxPathLength {
			return
		}
		got, err := overlay.ParsePath(text)
		if err != nil || got.String() != text || got[0].Name != a || got[2].Name != b {
			t.Fatalf("%q: %v, %v", text, got, err)
		}
	})
}
