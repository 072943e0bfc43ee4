// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ErrHidden replaces the message of an error that shows too much of the object.
var ErrHidden = errors.New("the object was refused; the reason is shown only to callers who may get the object")

// reasons and causes are the reasons of a Status and the types of its causes that the API defines.
// Only these are shown. A webhook can choose others, and many webhooks put a whole sentence into
// the reason.
var (
	reasons = sets.New(
		metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound,
		metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonGone,
		metav1.StatusReasonInvalid, metav1.StatusReasonServerTimeout, metav1.StatusReasonStoreReadError,
		metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonBadRequest,
		metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable,
		metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnsupportedMediaType,
		metav1.StatusReasonInternalError, metav1.StatusReasonExpired, metav1.StatusReasonServiceUnavailable,
	)
	causes = sets.New(
		metav1.CauseTypeFieldValueNotFound, metav1.CauseTypeFieldValueRequired, metav1.CauseTypeFieldValueDuplicate,
		metav1.CauseTypeFieldValueInvalid, metav1.CauseTypeFieldValueNotSupported, metav1.CauseTypeForbidden,
		metav1.CauseTypeTooLong, metav1.CauseTypeTooMany, metav1.CauseType(field.ErrorTypeTooFew),
		metav1.CauseType(field.ErrorTypeTooShort), metav1.CauseTypeTypeInvalid, metav1.CauseTypeInternal,
		metav1.CauseTypeUnexpectedServerResponse, metav1.CauseTypeFieldManagerConflict,
		metav1.CauseTypeResourceVersionTooLarge,
	)
)

// Request has the name, resource and kind of the object that a request writes, which an error may
// contain.
type Request struct {
	Name     string
	Resource schema.GroupResource
	Kind     schema.GroupKind
}

// Status returns status without everything that could show something of the object. The result
// has the message ErrHidden. It keeps the code, the time after which to retry, the reason and the
// types of causes, if the API defines them, and the name, group and kind, if they are those of the
// request. Of the path of each field it keeps only the part that every object of the kind has.
func Status(status metav1.Status, request Request) metav1.Status {
	out := metav1.Status{Status: metav1.StatusFailure, Code: status.Code, Message: ErrHidden.Error()}
	if reasons.Has(status.Reason) {
		out.Reason = status.Reason
	}
	if status.Details == nil {
		return out
	}
	out.Details = &metav1.StatusDetails{
		Name:              Head(oneOf(status.Details.Name, request.Name), Usual.Name),
		Group:             oneOf(status.Details.Group, request.Resource.Group, request.Kind.Group),
		Kind:              oneOf(status.Details.Kind, request.Resource.Resource, request.Kind.Kind),
		RetryAfterSeconds: status.Details.RetryAfterSeconds,
	}
	for _, cause := range status.Details.Causes {
		redacted := metav1.StatusCause{Field: fieldOfEvery(cause.Field)}
		if causes.Has(cause.Type) {
			redacted.Type = cause.Type
		}
		if redacted != (metav1.StatusCause{}) && !slices.Contains(out.Details.Causes, redacted) {
			out.Details.Causes = append(out.Details.Causes, redacted)
		}
	}
	return out
}

// oneOf returns status, a value of an error's status, if it is among known. If not, it returns "".
func oneOf(status string, known ...string) string {
	if slices.Contains(known, status) {
		return status
	}
	return ""
}

// fieldOfEvery returns the part of a field's path that every object of the kind has: the first
// name, such as spec, or in metadata the first two, such as metadata.labels. The rest of the path
// can contain the key of a map that the caller did not write, because upstream validates the whole
// object.
func fieldOfEvery(path string) string {
	path, _, _ = strings.Cut(strings.TrimPrefix(path, "."), "[")
	first, rest, _ := strings.Cut(path, ".")
	if !isName(first) {
		return ""
	}
	if second, _, _ := strings.Cut(rest, "."); first == "metadata" && isName(second) {
		return first + "." + second
	}
	return first
}

// maxFieldLength is the length in bytes of the longest text that counts as the name of a field.
const maxFieldLength = 63

func isName(s string) bool {
	return s != "" && len(s) <= maxFieldLength && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) < 0
}
