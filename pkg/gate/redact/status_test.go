// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestFieldOfEvery checks how much of a refused field's path is shown to a caller that may not
// get the object. Upstream writes keys of maps in brackets for built-in kinds and behind a dot
// for custom resources. A webhook may write any text.
func TestFieldOfEvery(t *testing.T) {
	for name, tc := range map[string]struct{ path, want string }{
		"a key of data":              {"data[secret]", "data"},
		"a key with dots":            {"data[a.secret]", "data"},
		"a key of a custom resource": {"spec.settings.secret", "spec"},
		"a key at its root":          {"settings.secret", "settings"},
		"a name of 63 bytes":         {strings.Repeat("a", 63), strings.Repeat("a", 63)},
		"a name of 64 bytes":         {strings.Repeat("a", 64), ""},
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

// TestStatus checks what remains of a webhook's error: the code, reasons and causes that the API
// defines, and the part of a field's path that every object of the kind has.
func TestStatus(t *testing.T) {
	const name = "t"
	request := Request{Name: name, Resource: gvk.GroupResource{Group: "example.com", Resource: "things"},
		Kind: gvk.GroupKind{Group: "example.com", Kind: "Thing"}}
	const secret = "it is a secret"
	got := Status(metav1.Status{
		ListMeta: metav1.ListMeta{Continue: secret}, Status: secret, Code: 418, Reason: secret, Message: secret,
		Details: &metav1.StatusDetails{Name: secret, Group: secret, Kind: secret, UID: secret, RetryAfterSeconds: 3, Causes: []metav1.StatusCause{
			{Type: secret, Message: secret, Field: secret},
			{Type: secret, Message: secret, Field: "data." + secret},
			{Type: metav1.CauseTypeFieldValueInvalid, Field: "data[a]"},
			{Type: metav1.CauseTypeFieldValueInvalid, Field: "data[b]"},
		}},
	}, request)
	want := metav1.Status{Status: metav1.StatusFailure, Code: 418, Message: ErrHidden.Error(), Details: &metav1.StatusDetails{
		RetryAfterSeconds: 3, Causes: []metav1.StatusCause{{Field: "data"}, {Type: metav1.CauseTypeFieldValueInvalid, Field: "data"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	own := apierrors.NewInvalid(request.Kind, name, field.ErrorList{field.Required(field.NewPath("data"), secret), field.TooShort(field.NewPath("data"), secret, 1)}).ErrStatus
	got = Status(own, request)
	own.Message = ErrHidden.Error()
	for i := range own.Details.Causes {
		own.Details.Causes[i].Message = ""
	}
	if diff := cmp.Diff(own, got); diff != "" {
		t.Errorf("of upstream's own only the text goes: %s", diff)
	}
}

// TestStatusKnowsTheAPI checks that the sets reasons and causes have all values that upstream
// defines.
func TestStatusKnowsTheAPI(t *testing.T) {
	for _, err := range []error{
		apierrors.NewUnauthorized(""), apierrors.NewForbidden(gvk.GroupResource{}, "", ErrHidden), apierrors.NewNotFound(gvk.GroupResource{}, ""),
		apierrors.NewAlreadyExists(gvk.GroupResource{}, ""), apierrors.NewConflict(gvk.GroupResource{}, "", ErrHidden), apierrors.NewGone(""),
		apierrors.NewInvalid(gvk.GroupKind{}, "", nil), apierrors.NewServerTimeout(gvk.GroupResource{}, "", 1), apierrors.NewTimeoutError("", 1),
		apierrors.NewTooManyRequestsError(""), apierrors.NewBadRequest(""), apierrors.NewMethodNotSupported(gvk.GroupResource{}, ""),
		apierrors.NewRequestEntityTooLargeError(""), apierrors.NewInternalError(ErrHidden), apierrors.NewResourceExpired(""), apierrors.NewServiceUnavailable(""),
	} {
		if reason := apierrors.ReasonForError(err); !reasons.Has(reason) {
			t.Errorf("the reason %q is not known", reason)
		}
	}
	path := field.NewPath("a")
	for _, err := range []*field.Error{
		field.NotFound(path, 1), field.Required(path, ""), field.Duplicate(path, 1), field.Invalid(path, 1, ""), field.NotSupported(path, "", []string{}),
		field.Forbidden(path, ""), field.TooLong(path, "", 1), field.TooMany(path, 2, 1), field.TooFew(path, 1, 2), field.TooShort(path, "", 1),
		field.InternalError(path, ErrHidden), field.TypeInvalid(path, 1, ""),
	} {
		if !causes.Has(metav1.CauseType(err.Type)) {
			t.Errorf("the cause %q is not known", err.Type)
		}
	}
}

// TestNames checks which names in a field's path may be shown: those of letters and digits.
func TestNames(t *testing.T) {
	for path, want := range map[string]string{"azAZ09": "azAZ09", "a{": "", "a`": "", "a@": "", "a[": "a", "a/": "", "a:": "", "metadata.azAZ09": "metadata.azAZ09"} {
		if got := fieldOfEvery(path); got != want {
			t.Errorf("%s: %q, wanted %q", path, got, want)
		}
	}
}
