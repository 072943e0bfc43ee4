// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// TestPatchHas holds what stands in a patch.
func TestPatchHas(t *testing.T) {
	const merge = `{"metadata":{"labels":{"a.example/x":null,"b":"c d","\u0065":1,"q\"":80,"":true}},"list":["one","two"]}`
	const operations = `[{"op":"remove","path":"/metadata/labels/a.example~1x"},{"op":"add","path":"/a~01/-","value":{"deep":["in/side"]}}]`
	for _, test := range []struct {
		body       string
		operations bool
		has, lacks []string
	}{
		{merge, false, []string{"a.example/x", "b", "c d", "e", `q"`, "80", "one", "two", "labels"}, []string{"", "a.example", "x", "c", "d", "8", `\u0065`, "tw", "q"}},
		{operations, true, []string{"a.example/x", "a~1", "metadata", "deep", "in/side"}, []string{"a.example", "a/", "a.example~1x", "side", ""}},
		{operations, false, []string{"deep"}, []string{"a.example/x", "a.example~1x"}},
		{`"`, false, nil, []string{"", `"`}},
		{`"\`, false, nil, []string{"", `\`}},
		{`{"a":"b`, false, []string{"a"}, []string{"b"}},
		{"", true, nil, []string{""}},
		{"{\"\xff\":1}", false, nil, []string{"\ufffd"}},
	} {
		p := &patch{body: []byte(test.body), operations: test.operations}
		for _, key := range test.has {
			if !p.has(key) {
				t.Errorf("%s: %q is not found", test.body, key)
			}
		}
		for _, key := range test.lacks {
			if p.has(key) {
				t.Errorf("%s: %q is found", test.body, key)
			}
		}
	}
}

// FuzzPatchHas holds that a key is found however it is spelled, and that nothing is found
// that a decoder would not.
func FuzzPatchHas(f *testing.F) {
	f.Add("a.example/x", []byte(`{"a":{"b":[1,"c\"d"]}}`))
	f.Add("~1/\"\\é\x00", []byte(`"\`))
	f.Fuzz(func(t *testing.T, key string, body []byte) {
		if key != "" && utf8.ValidString(key) {
			merge, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{key: nil}}})
			if err != nil {
				t.Fatal(err)
			}
			if !(&patch{body: merge}).has(key) {
				t.Errorf("%q is not found in %s", key, merge)
			}
			pointer := "/metadata/labels/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
			operation, err := json.Marshal([]any{map[string]any{"op": "remove", "path": pointer}})
			if err != nil {
				t.Fatal(err)
			}
			if !(&patch{body: operation, operations: true}).has(key) {
				t.Errorf("%q is not found in %s", key, operation)
			}
		}
		(&patch{body: body, operations: true}).has(key)
		if !json.Valid(body) || !utf8.Valid(body) {
			return
		}
		p, known := &patch{body: body}, map[string]bool{"": true}
		for decoder := json.NewDecoder(bytes.NewReader(body)); ; {
			token, err := decoder.Token()
			if err != nil {
				break
			}
			if text, ok := token.(string); ok && !known[text] {
				if known[text] = true; !p.has(text) {
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

// labelsOf is an object with some labels.
func labelsOf(t testing.TB, labels map[string]any) *unstructured.Unstructured {
	u := object(t, "{}")
	u.Object["metadata"].(map[string]any)["labels"] = labels
	return u
}

// TestNothingOfWhatIsHidden holds that a caller who may not get an object is told the same
// whatever labels go that it did not name: of two objects that differ in these alone, one
// request is refused in the same words. The caller holds some of the permissions of what it
// changes itself, and of what is hidden, any.
func TestNothingOfWhatIsHidden(t *testing.T) {
	model := target(t, labelled)
	random := rand.New(rand.NewPCG(1, 2))
	some := func(prefix string, among int) map[string]any {
		out := map[string]any{}
		for range 1 + random.IntN(among) {
			out[fmt.Sprintf("%c%s%d", 'a'+rune(random.IntN(26)), prefix, random.IntN(among))] = "v"
		}
		return out
	}
	join := func(sets ...map[string]any) map[string]any {
		out := map[string]any{}
		for _, set := range sets {
			for key, value := range set {
				out[key] = value
			}
		}
		return out
	}
	refusals := map[bool]int{}
	for range 2000 {
		own, stays := some("own", 5), some("stays", 5)
		var allow []string
		for key := range own {
			if random.IntN(4) > 0 {
				allow = append(allow, "granular:label("+key+")")
			}
		}
		patched, err := json.Marshal(own)
		if err != nil {
			t.Fatal(err)
		}
		byPatch := random.IntN(2) == 0
		told := ""
		for range 2 {
			size := 1 + random.IntN(80)
			hidden := some("hidden", size)
			held := allow
			for key := range hidden {
				if random.IntN(2) == 0 {
					held = append(held[:len(held):len(held)], "granular:label("+key+")")
				}
			}
			hidden["zzz-hidden-and-not-held"] = "v"
			old, changed := labelsOf(t, join(stays, hidden)), labelsOf(t, join(stays, own))
			ctx, _ := granular.WithMarker(requestContext("update"))
			w := New(&grants{allow: held}).Begin(ctx, model)
			if byPatch {
				if err := w.Patch(ctx, types.MergePatchType, patched); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Observe(ctx, changed, old); err != nil {
				t.Fatal(err)
			}
			err := w.RespondError(ctx, w.Verify(ctx, changed, old))
			if err == nil {
				t.Fatal("allowed")
			}
			text, failed := json.Marshal(err)
			if failed != nil || strings.Contains(string(text), "hidden") {
				t.Fatalf("%s, %v", text, failed)
			}
			if told != "" && told != string(text) {
				t.Fatalf("of the same request, with other labels hidden\n%s\n%s", told, text)
			}
			told = string(text)
			refusals[strings.Contains(err.Error(), "own")]++
		}
	}
	if refusals[true] < 500 || refusals[false] < 500 {
		t.Errorf("one's own label was refused %d times, something hidden %d times", refusals[true], refusals[false])
	}
}

// TestKeysThatComeBack holds that it is what the caller sent that counts, not what is
// about to be stored: a webhook may put something else where a key was taken away.
func TestKeysThatComeBack(t *testing.T) {
	model := target(t, labelled)
	old := labelsOf(t, map[string]any{"hidden": "a"})
	for name, tc := range map[string]struct {
		sent map[string]any
		says string
	}{
		"taken away": {map[string]any{}, "cannot change .metadata.labels in"},
		"changed":    {map[string]any{"hidden": "b"}, "cannot change .metadata.labels[hidden] in"},
	} {
		for _, mayGet := range []bool{false, true} {
			g := &grants{}
			says := tc.says
			if mayGet {
				g.allow, says = []string{"get"}, "cannot change .metadata.labels[hidden] in"
			}
			ctx, marker := granular.WithMarker(requestContext("update"))
			w := New(g).Begin(ctx, model)
			if err := w.Observe(ctx, labelsOf(t, tc.sent), old); err != nil {
				t.Fatal(err)
			}
			t.Run(name, func(t *testing.T) {
				judged(t, w.Verify(ctx, labelsOf(t, map[string]any{"hidden": "c"}), old), marker, says)
			})
		}
	}
}

// TestKeysOfACreate holds that a create by an update names what stands in the patch, and
// no key that a webhook added.
func TestKeysOfACreate(t *testing.T) {
	model := target(t, strings.Replace(labelled, `"label",`, `"label", "x-kubernetes-permission-excluded": true,`, 1))
	for body, says := range map[string]string{
		`{"metadata":{"labels":{"own":"v"}}}`: "cannot change .metadata.labels[own] in",
		`{"metadata":{"labels":{"any":"v"}}}`: "cannot change .metadata.labels in",
	} {
		gate := New(&grants{allow: []string{"granular", "granular:metadata"}})
		ctx := requestContext("patch")
		begun := gate.Begin(ctx, model)
		if err := begun.Patch(ctx, types.MergePatchType, []byte(body)); err != nil {
			t.Fatal(err)
		}
		w, _, _, err := gate.FallbackCreate(ctx, model, begun, attributes("create"))
		if err != nil || w == nil {
			t.Fatal(w, err)
		}
		judged(t, w.Verify(ctx, labelsOf(t, map[string]any{"own": "v"}), nil), nil, says)
	}
}
