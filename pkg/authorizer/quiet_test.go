// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// TestRespondError holds which errors a caller without get sees as they are.
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
		"not found":                 {apierrors.NewNotFound(resource, "t"), true},
		"already there":             {apierrors.NewAlreadyExists(resource, "t"), true},
		"modified meanwhile":        {apierrors.NewConflict(resource, "t", errors.New("the object has been modified; please apply your changes to the latest version and try again")), true},
		"a webhook's not found":     {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 404, Reason: metav1.StatusReasonNotFound, Message: "secret", Details: &metav1.StatusDetails{Name: "t"}}}, false},
		"a conflict of managers":    {apierrors.NewApplyConflict([]metav1.StatusCause{{Field: ".data", Message: "secret"}}, "secret"), false},
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
					want = metav1.StatusReasonInternalError // what upstream makes of it
				}
				if apierrors.ReasonForError(got) != want {
					t.Errorf("%s: the reason is another: %v", name, got)
				}
			}
		}
	}
}

// TestFieldOfEvery holds what a caller without get is told of the fields that were refused.
// Upstream writes keys of maps in brackets for built-in kinds and behind a dot for custom
// resources; a webhook writes anything.
func TestFieldOfEvery(t *testing.T) {
	for name, tc := range map[string]struct{ path, want string }{
		"a key of data":              {"data[secret]", "data"},
		"a key with dots":            {"data[a.secret]", "data"},
		"a key of a custom resource": {"spec.settings.secret", "spec"},
		"a key at its root":          {"settings.secret", "settings"},
		"an element":                 {"spec.containers[0].name", "spec"},
		"a whole section":            {"spec", "spec"},
		"labels":                     {"metadata.labels", "metadata.labels"},
		"a label":                    {"metadata.labels[secret]", "metadata.labels"},
		"a label behind a dot":       {"metadata.labels.secret", "metadata.labels"},
		"a label of a conflict":      {".metadata.labels.secret", "metadata.labels"},
		"metadata":                   {"metadata", "metadata"},
		"metadata, and no name":      {"metadata.it is secret", "metadata"},
		"an owner":                   {"metadata.ownerReferences[0].uid", "metadata.ownerReferences"},
		"what another manager has":   {`.spec.containers[name="secret"].image`, "spec"},
		"no field":                   {"", ""},
		"no path":                    {"<nil>", ""},
		"a sentence":                 {"it is secret", ""},
		"a key alone":                {"[secret]", ""},
	} {
		if got := fieldOfEvery(tc.path); got != tc.want {
			t.Errorf("%s: %q, wanted %q", name, got, tc.want)
		}
	}
}

// TestQuiet holds that of what a webhook says only the API's own words are left.
func TestQuiet(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "false", 1))
	ctx, _ := granular.WithMarker(requestContext("patch"))
	w := New(&grants{}).Begin(ctx, model).(*write)
	name := w.attributes.GetName()
	if name == "" {
		t.Fatal("the request names no object")
	}
	const secret = "it is a secret"
	got := w.quiet(metav1.Status{
		ListMeta: metav1.ListMeta{Continue: secret}, Status: secret, Code: 418, Reason: secret, Message: secret,
		Details: &metav1.StatusDetails{Name: secret, Group: secret, Kind: secret, UID: secret, RetryAfterSeconds: 3, Causes: []metav1.StatusCause{
			{Type: secret, Message: secret, Field: secret},
			{Type: secret, Message: secret, Field: "data." + secret},
			{Type: metav1.CauseTypeFieldValueInvalid, Field: "data[a]"},
			{Type: metav1.CauseTypeFieldValueInvalid, Field: "data[b]"},
		}},
	})
	want := metav1.Status{Status: metav1.StatusFailure, Code: 418, Message: errQuiet.Error(), Details: &metav1.StatusDetails{
		RetryAfterSeconds: 3, Causes: []metav1.StatusCause{{Field: "data"}, {Type: metav1.CauseTypeFieldValueInvalid, Field: "data"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	own := apierrors.NewInvalid(thing.GroupKind(), name, field.ErrorList{field.Required(field.NewPath("data"), secret), field.TooShort(field.NewPath("data"), secret, 1)}).ErrStatus
	got = w.quiet(own)
	own.Message = errQuiet.Error()
	for i := range own.Details.Causes {
		own.Details.Causes[i].Message = ""
	}
	if diff := cmp.Diff(own, got); diff != "" {
		t.Errorf("of upstream's own only the text goes: %s", diff)
	}
}

// TestQuietKnowsTheAPI holds that reasons and causes have all that upstream has.
func TestQuietKnowsTheAPI(t *testing.T) {
	for _, err := range []error{
		apierrors.NewUnauthorized(""), apierrors.NewForbidden(gvk.GroupResource{}, "", errQuiet), apierrors.NewNotFound(gvk.GroupResource{}, ""),
		apierrors.NewAlreadyExists(gvk.GroupResource{}, ""), apierrors.NewConflict(gvk.GroupResource{}, "", errQuiet), apierrors.NewGone(""),
		apierrors.NewInvalid(gvk.GroupKind{}, "", nil), apierrors.NewServerTimeout(gvk.GroupResource{}, "", 1), apierrors.NewTimeoutError("", 1),
		apierrors.NewTooManyRequestsError(""), apierrors.NewBadRequest(""), apierrors.NewMethodNotSupported(gvk.GroupResource{}, ""),
		apierrors.NewRequestEntityTooLargeError(""), apierrors.NewInternalError(errQuiet), apierrors.NewResourceExpired(""), apierrors.NewServiceUnavailable(""),
	} {
		if reason := apierrors.ReasonForError(err); !reasons.Has(reason) {
			t.Errorf("the reason %q is not known", reason)
		}
	}
	path := field.NewPath("a")
	for _, err := range []*field.Error{
		field.NotFound(path, 1), field.Required(path, ""), field.Duplicate(path, 1), field.Invalid(path, 1, ""), field.NotSupported(path, "", []string{}),
		field.Forbidden(path, ""), field.TooLong(path, "", 1), field.TooMany(path, 2, 1), field.TooFew(path, 1, 2), field.TooShort(path, "", 1),
		field.InternalError(path, errQuiet), field.TypeInvalid(path, 1, ""),
	} {
		if !causes.Has(metav1.CauseType(err.Type)) {
			t.Errorf("the cause %q is not known", err.Type)
		}
	}
}

// TestPatchOperations holds that a value is carried only by who may get it.
func TestPatchOperations(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "false", 1))
	tests := map[string]struct {
		kind    types.PatchType
		patch   string
		refused bool
	}{
		"copy":                        {types.JSONPatchType, `[{"op":"copy","from":"/data","path":"/metadata/labels/a"}]`, true},
		"move, after others":          {types.JSONPatchType, `[{"op":"add","path":"/a","value":1},{"op":"move","from":"/data","path":"/a"}]`, true},
		"copy, said last":             {types.JSONPatchType, `[{"op":"add","op":"copy","from":"/data","path":"/a"}]`, true},
		"copy, beside another name":   {types.JSONPatchType, `[{"OP":"add","op":"copy","from":"/data","path":"/a"}]`, true},
		"add, said last":              {types.JSONPatchType, `[{"op":"copy","op":"add","path":"/a","value":1}]`, false},
		"add, replace, remove, test":  {types.JSONPatchType, `[{"op":"add"},{"op":"replace"},{"op":"remove"},{"op":"test"}]`, false},
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

// TestStandIns holds what counts as an annotation that conversion put there.
func TestStandIns(t *testing.T) {
	with := func(annotations map[string]string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
	}
	own, other := map[string]string{"own": "1", "moved": "1"}, map[string]string{"own": "1", "moved": "2"}
	tests := map[string]struct {
		newHub, oldHub, newShown, oldShown map[string]string
		want                               bool
	}{
		"nothing moved":           {own, own, own, own, false},
		"a plain change":          {other, own, other, own, false},
		"moved and not changed":   {map[string]string{"own": "2"}, map[string]string{"own": "1"}, map[string]string{"own": "2", "moved": "1"}, map[string]string{"own": "1", "moved": "1"}, false},
		"moved and changed":       {map[string]string{"own": "1"}, map[string]string{"own": "1"}, other, own, true},
		"moved and new":           {nil, nil, map[string]string{"moved": "1"}, nil, true},
		"moved and gone":          {nil, nil, nil, map[string]string{"moved": "1"}, true},
		"rewritten and changed":   {map[string]string{"moved": "x"}, map[string]string{"moved": "x"}, map[string]string{"moved": "1"}, map[string]string{"moved": "2"}, true},
		"taken away and the same": {own, own, map[string]string{"own": "1"}, map[string]string{"own": "1"}, false},
	}
	for name, tc := range tests {
		got := standInChanged(metav1.Object.GetAnnotations, with(tc.newHub), with(tc.oldHub), with(tc.newShown), with(tc.oldShown))
		if got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if standInChanged(metav1.Object.GetAnnotations, with(own), nil, with(own), nil) {
		t.Error("a create of plain annotations")
	}
}

// TestRefusalNamesNoKeys holds that a refusal tells the keys of an object only to
// callers who may get it.
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
		if err := w.Observe(ctx, after, before); err != nil {
			t.Fatal(err)
		}
		judged(t, w.Verify(ctx, after, before), nil, tc.says)
	}
}
