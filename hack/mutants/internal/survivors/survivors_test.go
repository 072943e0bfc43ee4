// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package survivors

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/hack/mutants/internal/measure"
	"kube-granular.dev/hack/mutants/internal/mutate"
)

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		text, err string
		want      List
	}{
		"empty": {want: List{}},
		"one reason for some": {text: "# It only\n# saves time.\na: f: removed: x()\nb: g: negated: y\n\n# Other.\nc: h: flipped: return true\n",
			want: List{"a: f: removed: x()": "It only saves time.", "b: g: negated: y": "It only saves time.",
				"c: h: flipped: return true": "Other."}},
		"no empty line": {text: "# One.\na: f: removed: x()\n# Other.\nb: g: negated: y\n",
			want: List{"a: f: removed: x()": "One.", "b: g: negated: y": "Other."}},
		"no reason": {text: "a: f: removed: x()\n", err: "line 1: no reason for a: f: removed: x()"},
		"a reason is gone": {text: "# One.\na: f: removed: x()\n\nb: g: negated: y\n",
			err: "line 4: no reason for b: g: negated: y"},
		"twice": {text: "# One.\na: f: removed: x()\na: f: removed: x()\n",
			err: "line 3: duplicate: a: f: removed: x()"},
	} {
		got, err := Parse(test.text)
		if err == nil && test.err != "" || err != nil && err.Error() != test.err {
			t.Errorf("%s: %v, want %q", name, err, test.err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCompare(t *testing.T) {
	result := func(text string, noticed bool) measure.Result {
		return measure.Result{Mutant: mutate.Mutant{File: "a", Func: "f", Op: "removed", Text: text}, Noticed: noticed}
	}
	list := List{"a: f: removed: listed()": "Why.", "a: f: removed: mended()": "Why.", "a: f: removed: gone()": "Why."}
	results := []measure.Result{result("listed()", false), result("mended()", true), result("plain()", true),
		result("new()", false)}
	want := Difference{New: results[3:], Listed: results[:1], Noticed: results[1:2],
		Missing: []string{"a: f: removed: gone()"}}
	if diff := cmp.Diff(want, list.Compare(results, true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want.Missing = nil
	if diff := cmp.Diff(want, list.Compare(results, false)); diff != "" {
		t.Errorf("of a sample (-want +got):\n%s", diff)
	}
}

// TestIn holds that the mutants of a folder are those of its own files.
func TestIn(t *testing.T) {
	list := List{"a/b/c.go: F: x": "1", "a/b/d/c.go: F: x": "2", "a/bc.go: F: x": "3", "a/b/c.go: G: y: z": "4"}
	if got := list.In("a/b"); len(got) != 2 || got["a/b/c.go: F: x"] != "1" || got["a/b/c.go: G: y: z"] != "4" {
		t.Errorf("%v", got)
	}
}
