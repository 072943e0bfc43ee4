// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// TestRespondError checks which errors are shown unchanged to a caller that may not get the
// object.
func TestRespondError(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "false", 1))
	resource := gvk.GroupResource{Group: "example.com", Resource: "things"}
	invalid := apierrors.NewInvalid(thing.GroupKind(), "t", field.ErrorList{
		field.Invalid(field.NewPath("data").Key("secret"), "secret", "it is a secret"),
		field.Invalid(field.NewPath("data").Key("other-secret"), "secret", "it is a secret"),
	})
	tests := map[string]struct {
		err   error
		shown bool
	}{
		"not found":     {apierrors.NewNotFound(resource, "t"), true},
		"already there": {apierrors.NewAlreadyExists(resource, "t"), true},
		"modified meanwhile": {apierrors.NewConflict(resource, "t", errors.New("the object has been modified; please apply your changes to the latest version and try again")),
			true},
		"a webhook's not found": {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 404, Reason: metav1.StatusReasonNotFound, Message: "secret", Details: &metav1.StatusDetails{Name: "t"}}},
			false},
		"a conflict of managers": {apierrors.NewApplyConflict([]metav1.StatusCause{{Field: ".data", Message: "secret"}}, "secret"),
			false},
		"validation":                {invalid, false},
		"admission":                 {apierrors.NewForbidden(resource, "t", errors.New("it is a secret")), false},
		"decoding":                  {apierrors.NewBadRequest("secret"), false},
		"something inside":          {apierrors.NewInternalError(errors.New("secret")), false},
		"an error without a status": {errors.New("list element types are not identical: [[secret] [x]]"), false},
	}
	for name, tc := range tests {
		for _, mayGet := range []bool{true, false} {
			g := &grants{}
			if mayGet {
				g.allow = []string{"get"}
			}
			ctx, _ := granular.WithMarker(requestContext("patch"))
			got := New(g).Begin(ctx, model).RespondError(ctx, tc.err)
			if same := got.Error() == tc.err.Error(); same != (tc.shown || mayGet) {
				t.Errorf("%s, may get: %t: %v", name, mayGet, got)
			}
			var status apierrors.APIStatus
			if errors.As(got, &status) && status.Status().Details != nil {
				causes := status.Status().Details.Causes
				for _, cause := range causes {
					if !mayGet && strings.Contains(cause.Message+cause.Field, "secret") {
						t.Errorf("%s: the causes show %v", name, cause)
					}
				}
				if name == "validation" && len(causes) != map[bool]int{true: 2, false: 1}[mayGet] {
					t.Errorf("may get: %t: causes %v", mayGet, causes)
				}
				want := apierrors.ReasonForError(tc.err)
				if want == metav1.StatusReasonUnknown {
					want = metav1.StatusReasonInternalError // upstream turns an error without a status into this
				}
				if apierrors.ReasonForError(got) != want {
					t.Errorf("%s: the reason is another: %v", name, got)
				}
			}
		}
	}
}

// TestPatchOperations checks that a JSON patch may copy or move a value only if the caller may
// get the object.
func TestPatchOperations(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "false", 1))
	tests := map[string]struct {
		kind    types.PatchType
		patch   string
		refused bool
	}{
		"copy": {types.JSONPatchType,
			`[{"op":"copy","from":"/data","path":"/metadata/labels/a"}]`, true},
		"move, after others": {types.JSONPatchType,
			`[{"op":"add","path":"/a","value":1},{"op":"move","from":"/data","path":"/a"}]`, true},
		"copy, said last": {types.JSONPatchType,
			`[{"op":"add","op":"copy","from":"/data","path":"/a"}]`, true},
		"copy, beside another name": {types.JSONPatchType,
			`[{"OP":"add","op":"copy","from":"/data","path":"/a"}]`, true},
		"add, said last": {types.JSONPatchType, `[{"op":"copy","op":"add","path":"/a","value":1}]`, false},
		"add, replace, remove, test": {types.JSONPatchType,
			`[{"op":"add"},{"op":"replace"},{"op":"remove"},{"op":"test"}]`, false},
		"does not decode":             {types.JSONPatchType, `{"op":"copy"}`, false},
		"another kind of patch":       {types.MergePatchType, `[{"op":"copy"}]`, false},
		"a value that is called copy": {types.JSONPatchType, `[{"op":"add","path":"/a","value":{"op":"copy"}}]`, false},
	}
	for name, tc := range tests {
		for _, mayGet := range []bool{true, false} {
			g := &grants{}
			if mayGet {
				g.allow = []string{"get"}
			}
			ctx, _ := granular.WithMarker(requestContext("patch"))
			err := New(g).Begin(ctx, model).Patch(ctx, tc.kind, []byte(tc.patch))
			if apierrors.IsForbidden(err) != (tc.refused && !mayGet) {
				t.Errorf("%s, may get: %t: %v", name, mayGet, err)
			}
		}
	}
}

// TestAnnotationBackedKeys checks which changes of annotations count as changes of a field: those
// of annotations that conversion added, removed or rewrote.
func TestAnnotationBackedKeys(t *testing.T) {
	with := func(annotations map[string]string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
	}
	own, other := map[string]string{"own": "1", "moved": "1"}, map[string]string{"own": "1", "moved": "2"}
	tests := map[string]struct {
		newHub, oldHub, newShown, oldShown map[string]string
		want                               bool
	}{
		"nothing moved":  {own, own, own, own, false},
		"a plain change": {other, own, other, own, false},
		"moved and not changed": {map[string]string{"own": "2"}, map[string]string{"own": "1"},
			map[string]string{"own": "2", "moved": "1"}, map[string]string{"own": "1", "moved": "1"}, false},
		"moved and changed": {map[string]string{"own": "1"}, map[string]string{"own": "1"}, other, own, true},
		"moved and new":     {nil, nil, map[string]string{"moved": "1"}, nil, true},
		"moved and gone":    {nil, nil, nil, map[string]string{"moved": "1"}, true},
		"rewritten and changed": {map[string]string{"moved": "x"}, map[string]string{"moved": "x"},
			map[string]string{"moved": "1"}, map[string]string{"moved": "2"}, true},
		"taken away and the same": {own, own, map[string]string{"own": "1"}, map[string]string{"own": "1"}, false},
	}
	for name, tc := range tests {
		got := backingChanged(metav1.Object.GetAnnotations, with(tc.newHub), with(tc.oldHub), with(tc.newShown), with(tc.oldShown))
		if got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if backingChanged(metav1.Object.GetAnnotations, with(own), nil, with(own), nil) {
		t.Error("a create of plain annotations")
	}
}

// TestRefusalNamesNoKeys checks that a refusal shows a key that the caller did not send only to
// callers that may get the object.
func TestRefusalNamesNoKeys(t *testing.T) {
	const tagged = `{
  "type": "object",
  "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
  "properties": {
    "metadata": {"type": "object", "x-kubernetes-permission-verb": "metadata"},
    "spec": {"type": "object", "x-kubernetes-permission-verb": "specification", "properties": {
      "tags": {"type": "object", "additionalProperties": {"type": "string"}}
    }}
  }
}`
	for _, tc := range []struct {
		allow []string
		says  string
	}{
		{nil, "cannot change .spec.tags in namespace"},
		{[]string{"get"}, "cannot change .spec.tags[hidden] in namespace"},
	} {
		ctx, _ := granular.WithMarker(requestContext("update"))
		w := New(&grants{allow: tc.allow}).Begin(ctx, target(t, tagged))
		before, after := object(t, `{"spec":{"tags":{"hidden":"x","kept":"y"}}}`), object(t, `{"spec":{"tags":{"kept":"y"}}}`)
		judged(t, verify(t, w, ctx, after, before), nil, tc.says)
	}
}
