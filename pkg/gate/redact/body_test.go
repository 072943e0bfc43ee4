// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// TestBodyHas checks which keys Has finds in a patch.
func TestBodyHas(t *testing.T) {
	const merge = `{"metadata":{"labels":{"a.example/x":null,"b":"c d","\u0065":1,"q\"":80,"":true}},"list":["one","two"]}`
	const operations = `[{"op":"remove","path":"/metadata/labels/a.example~1x"},{"op":"add","path":"/a~01/-","value":{"deep":["in/side"]}}]`
	for _, test := range []struct {
		body       string
		operations bool
		has, lacks []string
	}{
		{merge, false, []string{"a.example/x", "b", "c d", "e", `q"`, "80", "one", "two", "labels"},
			[]string{"", "a.example", "x", "c", "d", "8", `\u0065`, "tw", "q"}},
		{operations, true, []string{"a.example/x", "a~1", "metadata", "deep", "in/side"},
			[]string{"a.example", "a/", "a.example~1x", "side", ""}},
		{operations, false, []string{"deep"}, []string{"a.example/x", "a.example~1x"}},
		{`"`, false, nil, []string{"", `"`}},
		{`"\`, false, nil, []string{"", `\`}},
		{`{"a":"b`, false, []string{"a"}, []string{"b"}},
		{"", true, nil, []string{""}},
		{"12", false, []string{"12"}, []string{"", "1"}},
		{"{\"\xff\":1}", false, nil, []string{"\ufffd"}},
	} {
		p := NewBody([]byte(test.body), test.operations)
		for _, key := range test.has {
			if !p.Has(key) {
				t.Errorf("%s: %q is not found", test.body, key)
			}
		}
		for _, key := range test.lacks {
			if p.Has(key) {
				t.Errorf("%s: %q is found", test.body, key)
			}
		}
	}
}

// TestAppliedBodyHas checks which keys Has finds in the body of an apply.
func TestAppliedBodyHas(t *testing.T) {
	const body = "metadata:\n  labels: {'a.example/x': one, \"q\\\"\": 80, plain: c d}\n# comment\nlist:\n- &a two\n- *a\n"
	for text, keys := range map[string]struct{ has, lacks []string }{
		body:                    {[]string{"a.example/x", `q"`, "80", "plain", "c d", "two", "labels"}, []string{"", "a.example", "comment", "c", "&a", "a"}},
		`{"a":{"b":[1,"c d"]}}`: {[]string{"a", "b", "1", "c d"}, []string{"c", "2"}},
		"a: b: c":               {nil, []string{"a", "b", "c"}},
		"":                      {nil, []string{"", "a", "null"}},
	} {
		p := NewAppliedBody([]byte(text), false)
		if !p.Applied() || NewBody([]byte(text), false).Applied() {
			t.Error("only the body of an apply is an applied one")
		}
		for _, key := range keys.has {
			if !p.Has(key) {
				t.Errorf("%s: %q is not found", text, key)
			}
		}
		for _, key := range keys.lacks {
			if p.Has(key) {
				t.Errorf("%s: %q is found", text, key)
			}
		}
	}
}

// TestAppliedCBORBodyHas checks which keys Has finds in the body of an apply in CBOR.
func TestAppliedCBORBodyHas(t *testing.T) {
	text, err := direct.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{"a.example/x": "one", "b": int64(80)}}})
	if err != nil {
		t.Fatal(err)
	}
	p := NewAppliedBody(text, true)
	for key, want := range map[string]bool{"a.example/x": true, "b": true, "80": true, "one": true, "a.example": false, "": false} {
		if p.Has(key) != want {
			t.Errorf("%q is found: %v", key, !want)
		}
	}
	for _, broken := range [][]byte{nil, text[:len(text)-3], []byte(`{"a":1}`)} {
		if p := NewAppliedBody(broken, true); p.Has("a.example/x") || p.Has("a") || p.Has("null") {
			t.Errorf("%q has a key", broken)
		}
	}
}

// FuzzBodyHas checks that Has finds a key however it is escaped, and finds no string that a JSON
// decoder does not find.
func FuzzBodyHas(f *testing.F) {
	f.Add("a.example/x", []byte(`{"a":{"b":[1,"c\"d"]}}`))
	f.Add("~1/\"\\é\x00", []byte(`"\`))
	f.Fuzz(func(t *testing.T, key string, body []byte) {
		if key != "" && utf8.ValidString(key) {
			merge, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{key: nil}}})
			if err != nil {
				t.Fatal(err)
			}
			if !NewBody(merge, false).Has(key) {
				t.Errorf("%q is not found in %s", key, merge)
			}
			pointer := "/metadata/labels/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
			operation, err := json.Marshal([]any{map[string]any{"op": "remove", "path": pointer}})
			if err != nil {
				t.Fatal(err)
			}
			if !NewBody(operation, true).Has(key) {
				t.Errorf("%q is not found in %s", key, operation)
			}
		}
		NewBody(body, true).Has(key)
		if !json.Valid(body) || !utf8.Valid(body) {
			return
		}
		p, known := NewBody(body, false), map[string]bool{"": true}
		for decoder := json.NewDecoder(bytes.NewReader(body)); ; {
			token, err := decoder.Token()
			if err != nil {
				break
			}
			if text, ok := token.(string); ok && !known[text] {
				if known[text] = true; !p.Has(text) {
					t.Errorf("%q is not found in %s", text, body)
				}
			}
		}
		for held := range p.holds {
			if !known[held] && !json.Valid([]byte(held)) {
				t.Errorf("%q is found in %s", held, body)
			}
		}
	})
}
