// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package metadataread

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"kube-granular.dev/pkg/gate/redact"
)

var (
	errUnanswered = errors.New("unable to check whether the caller may read metadata")
	// errHidden replaces an error that may show something of an object, such as that of a webhook
	// that fails to convert it.
	errHidden = errors.New("the metadata can't be read; the reason is shown only to callers who may read the whole object")
)

// shown are the reasons of errors that the server itself makes without looking into an object.
// Clients need their messages and details, to begin a list again or to wait.
var shown = sets.New(
	metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonGone, metav1.StatusReasonExpired,
	metav1.StatusReasonBadRequest, metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable,
	metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout, metav1.StatusReasonTooManyRequests,
)

// Error implements granular.Reduction. It logs an error that the caller does not see. Of an error that
// wraps one of the server, only the latter is shown.
func (r *reduction) Error(ctx context.Context, err error) error { return r.hidden(ctx, err) }

func (r *reduction) hidden(ctx context.Context, err error) *apierrors.StatusError {
	var known apierrors.APIStatus
	if errors.As(err, &known) && shown.Has(known.Status().Reason) {
		return &apierrors.StatusError{ErrStatus: known.Status()}
	}
	klog.FromContext(ctx).Error(redact.Logged(err), "Unable to read metadata", "resource", r.answer.Resource, "verb", r.answer.Verb)
	return apierrors.NewInternalError(errHidden)
}
