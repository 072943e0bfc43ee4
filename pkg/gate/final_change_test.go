// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// TestObservedAndFinal combines all changes that a caller can make, all that are there after
// admission, all that can be stored in the end, and all permissions that the caller can hold. Exactly
// those callers are refused that lack a permission for a field that they changed and that is about to
// change, or for an excluded field that the server itself is about to change.
func TestObservedAndFinal(t *testing.T) {
	fields := []struct {
		same, other string
		// needs lists the verbs of which a granular caller needs one. ordinary lists those of
		// which also a caller with the ordinary verb needs one.
		needs, ordinary []string
	}{
		{same: `"size":1`, other: `"size":2`, needs: []string{"granular:specification", "granular:size"}},
		{same: `"trigger":false`, other: `"trigger":true`, needs: []string{"granular:trigger"},
			ordinary: []string{"granular:trigger"}},
		{same: `"rest":1`, other: `"rest":2`, needs: []string{"granular:specification"}},
	}
	verbs := []string{"granular:specification", "granular:size", "granular:trigger"}
	with := func(changed int) string {
		text := make([]string, len(fields))
		for i, f := range fields {
			if text[i] = f.same; changed&(1<<i) != 0 {
				text[i] = f.other
			}
		}
		return fmt.Sprintf(`{"spec":{%s}}`, strings.Join(text, ","))
	}
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	old := object(t, with(0))
	for held := range 1 << len(verbs) {
		g := &grants{}
		for i, verb := range verbs {
			if held&(1<<i) != 0 {
				g.allow = append(g.allow, verb)
			}
		}
		holds := func(verb string) bool { return slices.Contains(g.allow, verb) }
		for changes := range 1 << (3 * len(fields)) {
			all := 1<<len(fields) - 1
			observed, admitted, final := changes&all, changes>>len(fields)&all, changes>>(2*len(fields))
			for _, marked := range []bool{false, true} {
				refused := false
				for i, f := range fields {
					needs := f.ordinary
					if marked {
						needs = f.needs
					}
					lacks := func(needs []string) bool { return len(needs) > 0 && !slices.ContainsFunc(needs, holds) }
					switch field := 1 << i; {
					case observed&final&field != 0 && lacks(needs),
						final&^admitted&^observed&field != 0 && lacks(f.ordinary):
						refused = true
					}
				}
				ctx := requestContext("update")
				var marker *granular.Marker
				if marked {
					ctx, marker = granular.WithMarker(ctx)
				}
				w := New(g).Begin(ctx, of)
				if err := w.Observe(ctx, object(t, with(observed)), old); err != nil {
					t.Fatal(err)
				}
				if err := w.Admitted(ctx, object(t, with(admitted)), old); err != nil {
					t.Fatal(err)
				}
				err := w.Verify(ctx, object(t, with(final)), old)
				if apierrors.IsForbidden(err) != refused || !refused && err != nil {
					t.Fatalf("marked %t, holding %q, observed %s, admitted %s, final %s: %v",
						marked, g.allow, with(observed), with(admitted), with(final), err)
				}
				if marker != nil && (marker.Consume() == nil) == refused {
					t.Fatalf("marked, holding %q, observed %s, admitted %s, final %s: the storage would accept it: %t",
						g.allow, with(observed), with(admitted), with(final), refused)
				}
			}
		}
	}
}

// TestDerivedWithoutAdmitted checks that a write fails closed if what admission left is not known: in an
// attempt without a call of Admitted, after one with a call, and if the objects could not be compared.
func TestDerivedWithoutAdmitted(t *testing.T) {
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	old, sent, final := object(t, plain), object(t, larger), object(t, both)
	ctx := requestContext("update")
	const says = `needs the verb "granular:trigger"; the server changes it`
	w := New(&grants{}).Begin(ctx, of)
	for attempt, admits := range []bool{false, true, false} {
		if err := w.Observe(ctx, sent, old); err != nil {
			t.Fatal(err)
		}
		want := says
		if admits {
			want = ""
			if err := w.Admitted(ctx, final, old); err != nil {
				t.Fatal(attempt, err)
			}
		}
		judged(t, w.Verify(ctx, final, old), nil, want)
	}
	was, changed := newGadget("1", nil), newGadget("1", func(g *gadget) { g.Spec.Size = 2 })
	derived := newGadget("1", func(g *gadget) { g.Spec.Size, g.Spec.Trigger = 2, true })
	for fails, want := range map[int]string{9: "", 1: says} {
		left, broken := fails*2, false // each comparison converts two objects
		of.Convertor = failsOn{&versions{fails: 9}, func(apiruntime.Object) bool { left--; return left < 0 && broken }}
		w := New(&grants{}).Begin(ctx, of)
		if err := w.Observe(ctx, changed, was); err != nil {
			t.Fatal(err)
		}
		broken = true
		if err := w.Admitted(ctx, derived, was); err != nil {
			t.Fatal(err)
		}
		broken = false
		judged(t, w.Verify(ctx, derived, was), nil, want)
	}
}

// TestCoveredAsObserved checks that a single change that the caller may make needs no second
// comparison, and that all other changes do.
func TestCoveredAsObserved(t *testing.T) {
	tests := map[string]struct {
		allow    []string
		fail     []string
		observed string
		final    string
		asked    []string
		says     string
		broken   bool
	}{
		"one change, reverted, and an authorizer that fails": {fail: []string{"granular:specification"},
			observed: larger, final: plain, asked: []string{"granular:specification", "granular:size", "get"}},
		"one change, covered, and an authorizer that fails": {allow: []string{"granular:size"},
			fail: []string{"granular:specification"}, observed: larger, final: larger,
			asked: []string{"granular:specification", "granular:size", "get"}},
		"one change, and an authorizer that fails": {fail: []string{"granular:specification"},
			observed: larger, final: larger, asked: []string{"granular:specification", "granular:size"},
			broken: true},
		"one change, covered": {allow: []string{"granular:size"}, observed: larger,
			final: larger, asked: []string{"granular:specification", "granular:size", "get"}},
		"one change, covered, reverted": {allow: []string{"granular:size"}, observed: larger,
			final: plain, asked: []string{"granular:specification", "granular:size", "get"}},
		"one change, reverted": {observed: larger, final: plain,
			asked: []string{"granular:specification", "granular:size", "get"}},
		"one change, not covered": {observed: larger, final: larger,
			asked: []string{"granular:specification", "granular:size"}, says: ".spec.size"},
		"two changes, one reverted": {allow: []string{"granular:trigger"}, observed: both,
			final: trigger, asked: []string{"granular:trigger", "get"}},
		"two changes, one not covered": {allow: []string{"granular:trigger"}, observed: both,
			final: both, asked: []string{"granular:specification", "granular:size"}, says: ".spec.size"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, marker := granular.WithMarker(requestContext("update"))
			g := &grants{allow: tc.allow, fail: tc.fail}
			w := New(g).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "true", 1)))
			old := object(t, plain)
			if err := w.Observe(ctx, object(t, tc.observed), old); err != nil {
				t.Fatal(err)
			}
			err := w.Verify(ctx, object(t, tc.final), old)
			if tc.broken {
				if !apierrors.IsInternalError(err) || marker.Consume() == nil {
					t.Errorf("got %v, wanted a 500", err)
				}
			} else {
				judged(t, err, marker, tc.says)
			}
			if !slices.Equal(g.asked, tc.asked) {
				t.Errorf("asked %q, wanted %q", g.asked, tc.asked)
			}
		})
	}
}

// TestTamperedIsJudged checks that edited managed fields must be covered by a permission, even if
// no other field changed, or only fields that the caller may change.
func TestTamperedIsJudged(t *testing.T) {
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	for _, changed := range []string{plain, larger} {
		for _, held := range []bool{false, true} {
			g, says := &grants{allow: []string{"granular:size"}}, ".metadata.managedFields"
			if held {
				g.allow, says = append(g.allow, "granular:metadata"), ""
			}
			ctx, marker := granular.WithMarker(requestContext("update"))
			w := New(g).Begin(ctx, of)
			old, submitted := object(t, plain), object(t, changed)
			submitted.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody"}})
			if err := w.Submitted(ctx, submitted, old); err != nil {
				t.Fatal(err)
			}
			if err := w.Observe(ctx, object(t, changed), old); err != nil {
				t.Fatal(err)
			}
			judged(t, w.Verify(ctx, object(t, changed), old), marker, says)
		}
	}
	// A subresource keeps the stored managed fields, whatever the caller sends.
	status := of
	status.Subresource = "status"
	marked, marker := granular.WithMarker(requestContext("update"))
	w := New(&grants{allow: []string{"granular:size"}}).Begin(marked, status)
	sent := object(t, larger)
	sent.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody"}})
	if err := w.Submitted(marked, sent, object(t, plain)); err != nil {
		t.Fatal(err)
	}
	if err := w.Observe(marked, object(t, larger), object(t, plain)); err != nil {
		t.Fatal(err)
	}
	judged(t, w.Verify(marked, object(t, larger), object(t, plain)), marker, "")

	ctx, g := requestContext("update"), &grants{}
	w = New(g).Begin(ctx, of)
	submitted := object(t, larger)
	submitted.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody"}})
	if err := w.Submitted(ctx, submitted, object(t, plain)); err != nil {
		t.Fatal(err)
	}
	if err := w.Observe(ctx, object(t, larger), object(t, plain)); err != nil {
		t.Fatal(err)
	}
	if err := w.Verify(ctx, object(t, larger), object(t, plain)); err != nil || len(g.asked) > 0 {
		t.Errorf("a caller of the ordinary verb: %v, asked %q", err, g.asked)
	}
}

// TestAmbiguousIsMoreThanOneChange checks that an ambiguous observed change (whose fields could
// not be told apart) is compared again. It stands for every field below it, including those with
// excluded permissions.
func TestAmbiguousIsMoreThanOneChange(t *testing.T) {
	of := target(t, strings.Replace(strings.Replace(things, "EXCLUDED", "true", 1), `"trigger":`,
		`"box": {"type": "object", "properties": {"lock": {"type": "boolean", "x-kubernetes-permission-verb": "lock", "x-kubernetes-permission-excluded": true}}}, "trigger":`, 1))
	ctx, marker := granular.WithMarker(requestContext("update"))
	w := New(&grants{allow: []string{"granular:specification"}}).Begin(ctx, of)
	old := object(t, `{"spec":{"size":1}}`)
	if err := w.Observe(ctx, object(t, `{"spec":{"size":1,"box":"no object"}}`), old); err != nil {
		t.Fatal(err)
	}
	if of := w.(*write).observed; len(of) != 1 || !of[0].Ambiguous {
		t.Fatalf("observed %v, wanted one whole change", of)
	}
	judged(t, w.Verify(ctx, object(t, `{"spec":{"size":1,"box":{"lock":true}}}`), old), marker, `needs the verb "granular:lock"`)
}

// TestPutElsewhere checks a webhook that moves the caller's value into another top-level field
// with the same permission. The caller needs that permission. If the webhook just takes the value
// back, the caller does not.
func TestPutElsewhere(t *testing.T) {
	model := strings.Replace(strings.Replace(things, "EXCLUDED", "true", 1), `"data": {"type": "string"}`, `"data": {"type": "string", "x-kubernetes-permission-verb": "trigger", "x-kubernetes-permission-excluded": true}`, 1)
	for name, tc := range map[string]struct {
		allow []string
		final string
		says  string
	}{
		"put elsewhere":          {nil, withData, "cannot change .spec.trigger"},
		"put elsewhere, covered": {[]string{"granular:trigger"}, withData, ""},
		"taken back":             {nil, plain, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := requestContext("update")
			w := New(&grants{allow: tc.allow}).Begin(ctx, target(t, model))
			if err := w.Observe(ctx, object(t, trigger), object(t, plain)); err != nil {
				t.Fatal(err)
			}
			judged(t, w.Verify(ctx, object(t, tc.final), object(t, plain)), nil, tc.says)
		})
	}
}

// TestPutElsewhereNotConverted checks that a write is refused if the last comparison fails, so
// that it is not known whether a webhook moved the caller's value to another field.
func TestPutElsewhereNotConverted(t *testing.T) {
	of := target(t, strings.Replace(strings.Replace(things, "EXCLUDED", "true", 1), `"data": {"type": "string"}`, `"data": {"type": "string", "x-kubernetes-permission-verb": "trigger", "x-kubernetes-permission-excluded": true}`, 1))
	was, sent := newGadget("1", nil), newGadget("1", func(g *gadget) { g.Spec.Trigger = true })
	final := newGadget("1", func(g *gadget) { g.Data = "x" })
	for looks := 1; looks <= 2; looks++ {
		left := 2 * looks // each comparison converts two objects
		of.Convertor = failsOn{&versions{fails: 9}, func(apiruntime.Object) bool { left--; return left < 0 }}
		ctx := requestContext("update")
		w := New(&grants{}).Begin(ctx, of)
		if err := w.Observe(ctx, sent, was); err != nil {
			t.Fatal(err)
		}
		judged(t, w.Verify(ctx, final, was), nil, "its fields can't be verified")
	}
}

// TestMetadataIsNoManagedFields checks that a refusal names managed fields only if they were
// edited, and not for another change that needs the same permission.
func TestMetadataIsNoManagedFields(t *testing.T) {
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	ctx, marker := granular.WithMarker(requestContext("update"))
	w := New(&grants{allow: []string{"get"}}).Begin(ctx, of)
	sent, was := object(t, `{"metadata":{"labels":{"a":"b"}}}`), object(t, `{"metadata":{"labels":{"a":"c"}}}`)
	judged(t, verify(t, w, ctx, sent, was), marker, "cannot change .metadata.labels")
}
