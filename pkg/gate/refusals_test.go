// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/pkg/refusal"
)

// TestNobody checks that a marked request without request info fails in every step, and that its
// response shows nothing.
func TestNobody(t *testing.T) {
	ctx, marker := granular.WithMarker(context.Background())
	w := New(&grants{allow: []string{"granular:metadata", "granular:specification", "get"}}).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "true", 1)))
	new, old := object(t, larger), object(t, plain)
	submitted := w.Submitted(ctx, new, old)
	observed := w.Observe(ctx, new, old)
	for step, err := range map[string]error{
		"patch": w.Patch(ctx, types.MergePatchType, nil), "submitted": submitted, "observed": observed, "verified": w.Verify(ctx, new, old),
	} {
		if !apierrors.IsInternalError(err) {
			t.Errorf("%s: %v", step, err)
		}
	}
	if marker.Consume() == nil {
		t.Error("the storage would accept it")
	}
	if shown, ok := w.Respond(ctx, new).(*metav1.Status); !ok || shown.Message != "" {
		t.Errorf("shown is %v", shown)
	}
	if failed := errors.New("failed"); w.RespondError(ctx, failed) != failed {
		t.Error("an error is lost")
	}
}

// TestRefusalInFull checks the complete text of a refusal: the object, the user, the field, the
// namespace, the subresource, and the missing verbs; both in the message and in the cause.
func TestRefusalInFull(t *testing.T) {
	for name, tc := range map[string]struct {
		attributes  func(a *upstream.AttributesRecord)
		subresource string
		final       string
		message     string
		cause       metav1.StatusCause
		told        refusal.Details
	}{
		"a field": {final: larger,
			message: `things.example.com "t" is forbidden: User "jane" cannot change .spec.size in namespace "n": needs one of the verbs "granular:size", "granular:specification"`,
			cause: metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: ".spec.size",
				Message: `needs one of the verbs "granular:size", "granular:specification"`},
			told: refusal.Details{User: "jane", Namespace: "n", Verbs: []string{"granular:size", "granular:specification"}}},
		"of a cluster": {final: trigger, attributes: func(a *upstream.AttributesRecord) { a.Namespace = "" },
			message: `things.example.com "t" is forbidden: User "jane" cannot change .spec.trigger: needs the verb "granular:trigger"`,
			cause: metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: ".spec.trigger",
				Message: `needs the verb "granular:trigger"`},
			told: refusal.Details{User: "jane", Verbs: []string{"granular:trigger"}}},
		"through a subresource": {final: trigger, subresource: "status",
			message: `things.example.com "t" is forbidden: User "jane" cannot change .spec.trigger in namespace "n" through "things/status": needs the verb "granular:trigger"`,
			cause: metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: ".spec.trigger",
				Message: `needs the verb "granular:trigger"`},
			told: refusal.Details{User: "jane", Namespace: "n", Subresource: "status", Verbs: []string{"granular:trigger"}}},
		"by nobody": {final: withData, attributes: func(a *upstream.AttributesRecord) { a.User = nil },
			message: `things.example.com "t" is forbidden: User "" cannot change .data in namespace "n": no permission covers this field`,
			cause: metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: ".data",
				Message: `no permission covers this field`},
			told: refusal.Details{Namespace: "n"}},
	} {
		t.Run(name, func(t *testing.T) {
			of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
			of.Subresource = tc.subresource
			a := attributes("update")
			if tc.attributes != nil {
				tc.attributes(&a)
			}
			ctx, marker := granular.WithMarker(requestContext("update"))
			w := newWrite(ctx, New(&grants{}), of, kindOf(of), a, marker)
			if err := w.Observe(ctx, object(t, tc.final), object(t, plain)); err != nil {
				t.Fatal(err)
			}
			var status *apierrors.StatusError
			if err := w.Verify(ctx, object(t, tc.final), object(t, plain)); !errors.As(err, &status) {
				t.Fatal(err)
			}
			if status.Error() != tc.message {
				t.Errorf("says %s\nwanted %s", status, tc.message)
			}
			causes := status.ErrStatus.Details.Causes
			if diff := cmp.Diff(tc.cause, causes[0]); diff != "" {
				t.Errorf("first cause (-want +got):\n%s", diff)
			}
			tc.told.Field, tc.told.Needs = tc.cause.Field, tc.cause.Message
			told, _ := refusal.FromCauses(causes)
			if diff := cmp.Diff(&tc.told, told); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExcludedAnywhere checks a kind whose permission tree can't be compiled. If its schema has
// an excluded permission anywhere, nobody can write the kind. Otherwise callers that hold the
// ordinary verb can.
func TestExcludedAnywhere(t *testing.T) {
	const head = `{"type": "object", "x-kubernetes-permission-verb": "Not A Permission",
  "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}], `
	mark := func(value string) string { return `{"x-kubernetes-permission-excluded": ` + value + `}` }
	for name, tc := range map[string]struct {
		text   string
		closed bool
	}{
		"nowhere":                 {head + `"properties": {"a": {"type": "string"}}}`, false},
		"at a field":              {head + `"properties": {"a": ` + mark("true") + `}}`, true},
		"at a field, as a marker": {head + `"properties": {"a": ` + mark(`""`) + `}}`, true},
		"at a field, malformed":   {head + `"properties": {"a": ` + mark(`"no"`) + `}}`, true},
		"not at a field":          {head + `"properties": {"a": ` + mark("false") + `}}`, false},
		"below a field":           {head + `"properties": {"a": {"properties": {"b": ` + mark("true") + `}}}}`, true},
		"in allOf":                {head + `"allOf": [{}, ` + mark("true") + `]}`, true},
		"in allOf, nothing":       {head + `"allOf": [{}, {"maxLength": 1}]}`, false},
		"of a map": {head + `"properties": {"a": {"additionalProperties": ` + mark("true") + `}}}`,
			true},
		"of a map, nothing": {head + `"properties": {"a": {"additionalProperties": {"type": "string"}}}}`,
			false},
		"of a map of anything": {head + `"properties": {"a": {"additionalProperties": true}}}`, false},
		"of a list":            {head + `"properties": {"a": {"items": ` + mark("true") + `}}}`, true},
		"of a list, nothing":   {head + `"properties": {"a": {"items": {"type": "string"}}}}`, false},
		"of the object": {strings.Replace(head, `{"type"`, `{"x-kubernetes-permission-excluded": true, "type"`, 1) + `"properties": {}}`,
			true},
		"in another of its schemas": {head + `"properties": {"a": {"type": "string"}}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			of := target(t, "")
			texts := map[string]string{"thing": tc.text}
			if name == "in another of its schemas" {
				texts["other"] = mark("true")
			}
			all := models(t, texts)
			all["none"] = nil
			of.Schema = granular.NewSchema(all)
			ctx := requestContext("update")
			w := New(&grants{}).Begin(ctx, of)
			if closed := w != nil; closed != tc.closed {
				t.Fatalf("closed: %t", closed)
			}
			if w == nil {
				return
			}
			if err := w.Observe(ctx, object(t, larger), object(t, plain)); err != nil {
				t.Fatal(err)
			}
			judged(t, w.Verify(ctx, object(t, larger), object(t, plain)), nil, "no permissions are known for example.com/v1, Kind=Thing")
		})
	}
}

// TestHiddenOfVersions checks a version that has an excluded permission by its definition, but
// not by its permission tree. Writes in that version are refused.
func TestHiddenOfVersions(t *testing.T) {
	other := thing
	other.Version = "v2"
	for name, tc := range map[string]struct {
		excludes []gvk.GroupVersionKind
		says     string
	}{
		"this version": {[]gvk.GroupVersionKind{other, thing},
			"its definition has an excluded permission that its permission tree lacks"},
		"another version": {[]gvk.GroupVersionKind{other}, ""},
	} {
		of := unmarked(t)
		of.Schema.Excludes = tc.excludes
		for _, marked := range []bool{false, true} {
			ctx := requestContext("update")
			var marker *granular.Marker
			if marked {
				ctx, marker = granular.WithMarker(ctx)
			}
			w := New(&grants{allow: []string{"granular:specification"}}).Begin(ctx, of.Target)
			if w == nil {
				if marked || tc.says != "" {
					t.Errorf("%s, marked %t: nothing to do", name, marked)
				}
				continue
			}
			if err := w.Observe(ctx, object(t, larger), object(t, plain)); err != nil {
				t.Fatal(err)
			}
			judged(t, w.Verify(ctx, object(t, larger), object(t, plain)), marker, tc.says)
		}
	}
}

// TestAuthorizeCreateOnly checks that AuthorizeCreate asks for the verb "granular" only if the verb
// of the request is create, update or patch. It also checks that a granular update continues with
// its own Write.
func TestAuthorizeCreateOnly(t *testing.T) {
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	for _, verb := range []string{"delete", "get", "connect"} {
		g := &grants{allow: []string{"granular"}}
		w, decision, _, err := New(g).AuthorizeCreate(requestContext("update"), of, nil, attributes(verb))
		if w != nil || decision != upstream.DecisionNoOpinion || err != nil || !slices.Equal(g.asked, []string{verb}) {
			t.Errorf("%s: %v, %v, %v, asked %q", verb, w, decision, err, g.asked)
		}
	}
	g := &grants{fail: []string{"granular"}}
	if _, decision, _, err := New(g).AuthorizeCreate(requestContext("update"), of, nil, attributes("create")); err == nil || decision == upstream.DecisionAllow {
		t.Errorf("an authorizer that fails: %v, %v", decision, err)
	}
	gate := New(&grants{allow: []string{"granular"}})
	marked, _ := granular.WithMarker(requestContext("update"))
	begun := gate.Begin(marked, of)
	if w, decision, _, err := gate.AuthorizeCreate(marked, of, begun, attributes("create")); w != begun || decision != upstream.DecisionAllow || err != nil {
		t.Errorf("another write goes on: %v, %v", decision, err)
	}
	ordinary := requestContext("update")
	begun = gate.Begin(ordinary, of)
	w, _, _, err := gate.AuthorizeCreate(ordinary, of, begun, attributes("create"))
	if w == begun || err != nil {
		t.Fatalf("the same write goes on: %v", err)
	}
	created := object(t, `{"spec":{"size":1}}`)
	created.SetUID("")
	judged(t, w.Verify(ordinary, created, nil), nil, `needs the verb "granular:metadata"`)
}
