// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// things is the schema of a kind. Its permission trigger is excluded if EXCLUDED is replaced by
// true; its other permissions are included.
const things = `{
  "type": "object",
  "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
  "properties": {
    "apiVersion": {"type": "string"}, "kind": {"type": "string"},
    "metadata": {"type": "object", "x-kubernetes-permission-verb": "metadata"},
    "spec": {"type": "object", "x-kubernetes-permission-verb": "specification", "properties": {
      "size": {"type": "integer", "x-kubernetes-permission-verb": "size"},
      "trigger": {"type": "boolean", "x-kubernetes-permission-verb": "trigger", "x-kubernetes-permission-excluded": EXCLUDED}
    }},
    "data": {"type": "string"}
  }
}`

var thing = gvk.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

func target(t testing.TB, model string) granular.Target {
	t.Helper()
	out := granular.Target{Kind: thing,
		Resource: gvk.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}}
	if model != "" {
		out.Schema = granular.NewSchema(models(t, map[string]string{"thing": model}))
	}
	return out
}

func models(t testing.TB, texts map[string]string) map[string]*spec.Schema {
	t.Helper()
	out := map[string]*spec.Schema{}
	for name, text := range texts {
		out[name] = &spec.Schema{}
		if err := json.Unmarshal([]byte(text), out[name]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetGroupVersionKind(thing)
	u.SetName("t")
	u.SetUID("1")
	return u
}

const (
	plain    = `{"spec":{"size":1,"trigger":false},"data":"x"}`
	larger   = `{"spec":{"size":2,"trigger":false},"data":"x"}`
	trigger  = `{"spec":{"size":1,"trigger":true},"data":"x"}`
	both     = `{"spec":{"size":2,"trigger":true},"data":"x"}`
	withData = `{"spec":{"size":1,"trigger":false},"data":"y"}`
)

// verify verifies a change that stays as the caller sent it.
func verify(t testing.TB, w granular.Write, ctx context.Context, changed, old apiruntime.Object) error {
	t.Helper()
	if err := w.Observe(ctx, changed, old); err != nil {
		t.Fatal(err)
	}
	return w.Verify(ctx, changed, old)
}

// pass makes all calls of an update that nothing refuses.
func pass(b *testing.B, g *Gate, ctx context.Context, target granular.Target, changed, old apiruntime.Object) {
	w := g.Begin(ctx, target)
	if w == nil {
		return
	}
	if err := w.Observe(ctx, changed, old); err != nil {
		b.Fatal(err)
	}
	if err := w.Admitted(ctx, changed, old); err != nil {
		b.Fatal(err)
	}
	if err := w.Verify(ctx, changed, old); err != nil {
		b.Fatal(err)
	}
	w.Respond(ctx, changed)
}

// judged checks that err is a 403 that contains says or, if says is empty, that err is nil. It
// also checks that the storage accepts the marked write only without an error.
func judged(t *testing.T, err error, marker *granular.Marker, says string) {
	t.Helper()
	if says == "" && err != nil {
		t.Errorf("refused: %v", err)
	}
	if says != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), says)) {
		t.Errorf("got %v, wanted a 403 with %q", err, says)
	}
	if marker != nil && (marker.Consume() == nil) != (says == "") {
		t.Errorf("the storage would accept it: %t", says != "")
	}
}

// TestVerify checks which updates are refused, with one call of Observe and Verify each.
func TestVerify(t *testing.T) {
	excluded := strings.Replace(things, "EXCLUDED", "true", 1)
	included := strings.Replace(things, "EXCLUDED", "false", 1)
	malformed := strings.Replace(excluded, `"size"}`, `"Not A Permission"}`, 1)
	malformedIncluded := strings.Replace(included, `"size"}`, `"Not A Permission"}`, 1)

	tests := map[string]struct {
		model    string
		marked   bool
		allow    []string
		observed string
		// admitted is the object after admission, final if it is empty: then the server itself changes nothing.
		admitted string
		final    string
		idle     bool
		says     string
		asked    []string
	}{
		"marked, covered by the specific verb": {model: excluded, marked: true, allow: []string{"granular:size"},
			final: larger, asked: []string{"granular:specification", "granular:size"}},
		"marked, covered by the general verb": {model: excluded, marked: true,
			allow: []string{"granular:specification"}, final: larger, asked: []string{"granular:specification"}},
		"marked, not covered": {model: excluded, marked: true, final: larger,
			says:  `things.example.com "t" is forbidden: User "jane" cannot change .spec.size in namespace "n": needs one of the verbs "granular:size", "granular:specification"`,
			asked: []string{"granular:specification", "granular:size"}},
		"marked, excluded, by a general verb": {model: excluded, marked: true,
			allow: []string{"granular:specification"}, final: trigger,
			says:  `cannot change .spec.trigger in namespace "n": needs the verb "granular:trigger"`,
			asked: []string{"granular:trigger"}},
		"marked, excluded, by its own": {model: excluded, marked: true,
			allow: []string{"granular:trigger"}, final: trigger, asked: []string{"granular:trigger"}},
		"marked, no permission": {model: excluded, marked: true,
			allow: []string{"granular:specification"}, final: withData,
			says: `cannot change .data in namespace "n": no permission covers this field`},
		"marked, no change":                  {model: excluded, marked: true, final: plain},
		"marked, changed by a webhook alone": {model: excluded, marked: true, observed: plain, final: both},
		"marked, reverted by a webhook":      {model: excluded, marked: true, observed: both, final: plain},
		"marked, reverted by the server":     {model: excluded, marked: true, observed: both, admitted: both, final: plain},
		"marked, a webhook adds to it": {model: excluded, marked: true, allow: []string{"granular:size"},
			observed: larger, final: both, asked: []string{"granular:specification", "granular:size"}},
		"marked, the server adds what is included": {model: excluded, marked: true, allow: []string{"granular:trigger"},
			observed: trigger, admitted: trigger, final: both, asked: []string{"granular:trigger"}},
		"marked, the server adds what is excluded": {model: excluded, marked: true, allow: []string{"granular:size"},
			observed: larger, admitted: larger, final: both,
			says: `cannot change .spec.trigger in namespace "n": needs the verb "granular:trigger"; ` +
				`the server changes it because of what the request changes`,
			asked: []string{"granular:specification", "granular:size", "granular:trigger"}},
		"marked, the server adds what is excluded and covered": {model: excluded, marked: true,
			allow: []string{"granular:size", "granular:trigger"}, observed: larger, admitted: larger, final: both,
			asked: []string{"granular:specification", "granular:size", "granular:trigger"}},
		"marked, schema unknown": {marked: true, allow: []string{"granular:metadata"},
			final: plain, says: `its fields can't be verified`},
		"marked, schema malformed": {model: malformedIncluded, marked: true,
			allow: []string{"granular:specification"}, final: larger, says: `its fields can't be verified`},
		"ordinary, nothing excluded":      {model: included, final: trigger, idle: true},
		"ordinary, excluded, not changed": {model: excluded, final: larger},
		"ordinary, excluded, changed": {model: excluded, final: trigger,
			says:  `cannot change .spec.trigger in namespace "n": needs the verb "granular:trigger"`,
			asked: []string{"granular:trigger"}},
		"ordinary, excluded, changed and covered": {model: excluded, allow: []string{"granular:trigger"},
			final: trigger, asked: []string{"granular:trigger"}},
		"ordinary, excluded, general verb held": {model: excluded, allow: []string{"granular:specification"},
			final: trigger, says: `needs the verb "granular:trigger"`, asked: []string{"granular:trigger"}},
		"ordinary, excluded, changed by a webhook": {model: excluded, observed: larger, final: both},
		"ordinary, excluded, changed by the server": {model: excluded, observed: larger, admitted: larger, final: both,
			says:  `needs the verb "granular:trigger"; the server changes it because of what the request changes`,
			asked: []string{"granular:trigger"}},
		"ordinary, excluded, changed by the server and covered": {model: excluded, allow: []string{"granular:trigger"},
			observed: larger, admitted: larger, final: both, asked: []string{"granular:trigger"}},
		"ordinary, excluded, reverted by a webhook, changed by the server": {model: excluded,
			observed: trigger, admitted: plain, final: trigger,
			says: `needs the verb "granular:trigger"`, asked: []string{"granular:trigger"}},
		"ordinary, schema unknown":              {final: trigger, idle: true},
		"ordinary, malformed, nothing excluded": {model: malformedIncluded, final: trigger, idle: true},
		"ordinary, malformed, something excluded": {model: malformed, final: larger,
			says: `its fields can't be verified`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := requestContext("update")
			var marker *granular.Marker
			if tc.marked {
				ctx, marker = granular.WithMarker(ctx)
			}
			g := &grants{allow: tc.allow}
			w := New(g).Begin(ctx, target(t, tc.model))
			if idle := w == nil; idle != tc.idle {
				t.Fatalf("nothing to do: %t", idle)
			}
			if tc.idle {
				return
			}
			if tc.observed == "" {
				tc.observed = tc.final
			}
			old := object(t, plain)
			if err := w.Submitted(ctx, object(t, tc.observed), old); err != nil {
				t.Fatal(err)
			}
			if err := w.Observe(ctx, object(t, tc.observed), old); err != nil {
				t.Fatal(err)
			}
			if err := w.Admitted(ctx, object(t, cmp.Or(tc.admitted, tc.final)), old); err != nil {
				t.Fatal(err)
			}
			err := w.Verify(ctx, object(t, tc.final), old)
			judged(t, err, marker, tc.says)
			if tc.marked && err == nil {
				tc.asked = append(slices.Clip(tc.asked), "get") // Respond needs the decision
			}
			if !slices.Equal(g.asked, tc.asked) {
				t.Errorf("asked %q, wanted %q", g.asked, tc.asked)
			}
		})
	}
}

// TestVerifyUnobserved checks that without a call of Observe, everything that is stored counts as
// the caller's change.
func TestVerifyUnobserved(t *testing.T) {
	ctx, marker := granular.WithMarker(requestContext("update"))
	w := New(&grants{}).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "false", 1)))
	if err := w.Verify(ctx, object(t, larger), object(t, plain)); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, wanted a 403", err)
	}
	if marker.Consume() == nil {
		t.Error("the storage would accept it")
	}
}

// TestAuthorizeCreate checks that a create that only the verb "granular" allowed is verified in
// all fields, although the update that implies it was not.
func TestAuthorizeCreate(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	all := []string{"granular", "granular:metadata", "granular:specification", "granular:trigger"}
	for missing := -1; missing < len(all); missing++ {
		allow := slices.Clone(all)
		if missing >= 0 {
			allow = slices.Delete(allow, missing, missing+1)
		}
		gate := New(&grants{allow: allow})
		ctx := requestContext("update")
		begun := gate.Begin(ctx, model)
		created := object(t, `{"spec":{"size":1,"trigger":true}}`)
		if err := begun.Observe(ctx, created, nil); err != nil {
			t.Fatal(err)
		}
		w, _, _, err := gate.AuthorizeCreate(ctx, model, begun, attributes("create"))
		if err != nil {
			t.Fatal(err)
		}
		refused := w == nil
		if w != nil {
			refused = apierrors.IsForbidden(w.Verify(ctx, created, nil))
		}
		if refused != (missing >= 0) {
			t.Errorf("with %q refused is %t", allow, refused)
		}
	}
}

// TestRespond checks that a caller that may not get the object sees only its identity.
func TestRespond(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "false", 1))
	for _, mayGet := range []bool{true, false} {
		g := &grants{}
		if mayGet {
			g.allow = []string{"get"}
		}
		ctx, _ := granular.WithMarker(requestContext("patch"))
		w := New(g).Begin(ctx, model)
		result := w.Respond(ctx, object(t, plain)).(*unstructured.Unstructured)
		if result.GetName() != "t" || result.GetUID() != "1" || result.GetKind() != "Thing" {
			t.Errorf("identity is lost: %v", result.Object)
		}
		if _, shown := result.Object["spec"]; shown != mayGet {
			t.Errorf("may get: %t, shows the specification: %t", mayGet, shown)
		}
		if !slices.Equal(g.asked, []string{"get"}) {
			t.Errorf("asked %q", g.asked)
		}
		err := w.RespondError(ctx, apierrors.NewBadRequest("secret"))
		if shown := strings.Contains(err.Error(), "secret"); shown != mayGet || !apierrors.IsBadRequest(err) {
			t.Errorf("may get: %t, error: %v", mayGet, err)
		}
	}
	if w := New(&grants{}).Begin(context.Background(), model); w != nil {
		t.Error("an ordinary request of a kind without excluded permissions is verified")
	}
}
