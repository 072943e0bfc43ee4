// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/pkg/gate/redact"
)

// fitting returns the 403 that says what the caller can't do, with its cause, if it has
// one, and no more of either than fits.
func (w *write) fitting(obj runtime.Object, says func(redact.Limits) (string, metav1.StatusCause)) error {
	var err *apierrors.StatusError
	for _, l := range []redact.Limits{redact.Usual, redact.Narrow} {
		text, cause := says(l)
		err = apierrors.NewForbidden(w.target.Resource.GroupResource(), redact.Head(w.name(obj), l.Name),
			fmt.Errorf("User %q %s", redact.Head(w.user(), l.Name), text))
		if cause != (metav1.StatusCause{}) {
			err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, cause)
		}
		if redact.SizeOf(err) <= redact.MaxRefusal {
			return err
		}
	}
	for over := redact.SizeOf(err) - redact.MaxRefusal; over > 0; over = redact.SizeOf(err) - redact.MaxRefusal {
		err.ErrStatus.Message = redact.Head(err.ErrStatus.Message, max(0, len(err.ErrStatus.Message)-over-len(redact.Ellipsis)))
	}
	return err
}
