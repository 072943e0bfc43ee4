// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestEach holds which objects a file has, and which files are refused.
func TestEach(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":          {"", ""},
		"only comments":    {"# a\n---\n# b\n", ""},
		"two documents":    {"kind: A\nmetadata: {name: a}\n---\nkind: B\nmetadata: {name: b}\n", "A a, B b"},
		"a list":           {"kind: List\nitems:\n- {kind: A, metadata: {name: a}}\n- {kind: BList, items: [{kind: B, metadata: {name: b}}]}\n", "A a, B b"},
		"JSON":             {`{"kind":"A","metadata":{"name":"a"}}`, "A a"},
		"no kind":          {"a: b", "error f: an object has no kind"},
		"no object":        {"- a", "error f: not an object"},
		"a key twice":      {"kind: A\nkind: B\n", "error f: "},
		"an error of one":  {"kind: Bad\n", "error bad"},
		"no kind, in list": {"kind: List\nitems: [{a: b}]\n", "error f: an object has no kind"},
	} {
		var got []string
		err := Each("f", []byte(tc.text), func(o *Object) error {
			if o.Kind == "Bad" {
				return errors.New("bad")
			}
			got = append(got, o.Kind+" "+o.Name)
			return nil
		})
		have := strings.Join(got, ", ")
		if err != nil {
			have = "error " + err.Error()
		}
		if have != tc.want && !(err != nil && strings.HasPrefix(tc.want, "error ") && strings.HasPrefix(have, tc.want)) {
			t.Errorf("%s: %q, want %q", name, have, tc.want)
		}
	}
}

// TestDecodeIsStrict holds that a misspelled field is refused.
func TestDecodeIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"Namespace","metadata":{"name":"a"}}`:            "",
		`{"kind":"Namespace","metadata":{"name":"a"},"speck":{}}`: `f: Namespace a: json: unknown field "speck"`,
	} {
		err := Each("f", []byte(text), func(o *Object) error { return o.Decode(&corev1.Namespace{}) })
		if got := ""; err != nil {
			if got = err.Error(); got != want {
				t.Errorf("%s: %s", text, got)
			}
		} else if want != "" {
			t.Errorf("%s is accepted", text)
		}
	}
}
