// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// labelsOf returns an object with the given labels.
func labelsOf(t testing.TB, labels map[string]any) *unstructured.Unstructured {
	u := object(t, "{}")
	u.Object["metadata"].(map[string]any)["labels"] = labels
	return u
}

// TestNothingOfWhatIsHidden checks a caller that may not get the object and removes labels
// without naming them. The refusal must not depend on those hidden labels: if two objects differ
// only in them, the same request gets the same refusal. The caller holds some of the permissions
// for the labels that it names, and any of those for the hidden labels.
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
			err := w.RespondError(ctx, verify(t, w, ctx, changed, old))
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

// TestOwnIsJudgedFirst checks the order in which changed labels are verified. If the caller may
// not get the object, the labels that it named come first. Otherwise the order is by key. The
// verb get is checked only if the order depends on it.
func TestOwnIsJudgedFirst(t *testing.T) {
	excluded := strings.Replace(labelled, `"label",`, `"label", "x-kubernetes-permission-excluded": true,`, 1)
	for name, tc := range map[string]struct {
		old, callerChange []string
		allow             []string
		ordinary          bool
		says              string
		asksGet           bool
	}{
		"hidden before": {old: []string{"a"}, callerChange: []string{"b"}, says: "labels[b] in",
			asksGet: true},
		"hidden behind": {old: []string{"b"}, callerChange: []string{"a"}, says: "labels[a] in"},
		"hidden behind, covered": {old: []string{"b"}, callerChange: []string{"a"},
			allow: []string{"granular:label(a)"}, says: ".metadata.labels in", asksGet: true},
		"hidden between": {old: []string{"b"}, callerChange: []string{"a", "c"},
			allow: []string{"granular:label(a)"}, says: "labels[c] in", asksGet: true},
		"one by one": {old: []string{"a", "c"}, callerChange: []string{"b", "d"},
			allow: []string{"granular:label(b)"}, says: "labels[d] in", asksGet: true},
		"own is covered": {old: []string{"a", "c"}, callerChange: []string{"b"},
			allow: []string{"granular:label(b)"}, says: ".metadata.labels in", asksGet: true},
		"nothing is hidden": {callerChange: []string{"a", "b"}, says: "labels[a] in"},
		"may get": {old: []string{"a"}, callerChange: []string{"b"}, allow: []string{"get"},
			says: "labels[a] in", asksGet: true},
		"holds the verb": {old: []string{"a"}, callerChange: []string{"b"}, ordinary: true,
			says: "labels[a] in"},
	} {
		t.Run(name, func(t *testing.T) {
			labels := func(keys []string) *unstructured.Unstructured {
				out := map[string]any{}
				for _, key := range keys {
					out[key] = "v"
				}
				return labelsOf(t, out)
			}
			ctx := requestContext("update")
			var marker *granular.Marker
			model := excluded
			if !tc.ordinary {
				ctx, marker = granular.WithMarker(ctx)
				model = labelled
			}
			g := &grants{allow: tc.allow}
			w := New(g).Begin(ctx, target(t, model))
			if err := w.Observe(ctx, labels(tc.callerChange), labels(tc.old)); err != nil {
				t.Fatal(err)
			}
			judged(t, w.Verify(ctx, labels(tc.callerChange), labels(tc.old)), marker, tc.says)
			if asks := slices.Contains(g.asked, "get"); asks != tc.asksGet {
				t.Errorf("asked %q", g.asked)
			}
		})
	}
}

// TestKeysThatComeBack checks that a refusal names a key to a caller that may not get the object
// only if the key is in the object that the caller sent. If the caller removed the key, and a
// webhook set it again, the refusal does not name it.
func TestKeysThatComeBack(t *testing.T) {
	model := target(t, labelled)
	old := labelsOf(t, map[string]any{"hidden": "a"})
	for name, tc := range map[string]struct {
		callerChange map[string]any
		says         string
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
			if err := w.Observe(ctx, labelsOf(t, tc.callerChange), old); err != nil {
				t.Fatal(err)
			}
			t.Run(name, func(t *testing.T) {
				judged(t, w.Verify(ctx, labelsOf(t, map[string]any{"hidden": "c"}), old), marker, says)
			})
		}
	}
}

// TestKeysOfACreate checks that the refusal of a create that a patch implies names a key only if
// it is in the patch, and no key that a webhook added.
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
		w, _, _, err := gate.AuthorizeCreate(ctx, model, begun, attributes("create"))
		if err != nil || w == nil {
			t.Fatal(w, err)
		}
		judged(t, w.Verify(ctx, labelsOf(t, map[string]any{"own": "v"}), nil), nil, says)
	}
}

// TestKeysOfPatches checks that a refusal names a key to a caller that may not get the object
// only if the key is in the patch. Only in a JSON patch, a part of a path counts as a key.
func TestKeysOfPatches(t *testing.T) {
	for name, tc := range map[string]struct {
		kind  types.PatchType
		patch string
		named bool
	}{
		"a path of a JSON patch": {types.JSONPatchType, `[{"op":"remove","path":"/metadata/labels/hidden"}]`,
			true},
		"an object of a JSON patch": {types.JSONPatchType,
			`[{"op":"replace","path":"/metadata/labels","value":{"hidden":"v"}}]`, true},
		"no part of a JSON patch":     {types.JSONPatchType, `[{"op":"remove","path":"/metadata/labels"}]`, false},
		"a key of a merge patch":      {types.MergePatchType, `{"metadata":{"labels":{"hidden":null}}}`, true},
		"what is a path only in JSON": {types.MergePatchType, `{"metadata":{"labels":{"a":"/hidden"}}}`, false},
		"a key of a strategic patch": {types.StrategicMergePatchType, `{"metadata":{"labels":{"hidden":null}}}`,
			true},
		"no part of a strategic patch": {types.StrategicMergePatchType, `{"metadata":{"labels":null}}`, false},
	} {
		ctx, _ := granular.WithMarker(requestContext("patch"))
		w := New(&grants{}).Begin(ctx, target(t, labelled))
		if err := w.Patch(ctx, tc.kind, []byte(tc.patch)); err != nil {
			t.Fatal(err)
		}
		old, changed := labelsOf(t, map[string]any{"hidden": "v"}), labelsOf(t, nil)
		err := verify(t, w, ctx, changed, old)
		if !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "hidden") != tc.named {
			t.Errorf("%s: %v", name, err)
		}
	}
}
