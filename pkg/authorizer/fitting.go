// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/change"
)

// maxRefusal is the size of the largest refusal of ours, in bytes of JSON. What a caller
// sends, and how it and its objects are named, makes none larger: refusals are sent,
// logged and audited.
const maxRefusal = 4096

// limits are how much of what a caller chose is shown, in bytes before it is quoted.
type limits struct {
	name, path int
	// causes says that the cause repeats what is missing.
	causes bool
}

// Hardly any refusal needs the second.
var (
	usual  = limits{name: 256, path: change.MaxPathLength, causes: true}
	narrow = limits{name: 64, path: 128}
)

// fitting returns the 403 that says what the caller can't do, with its cause, if it has
// one, and no more of either than fits.
func (w *write) fitting(obj runtime.Object, says func(limits) (string, metav1.StatusCause)) error {
	var err *apierrors.StatusError
	for _, l := range []limits{usual, narrow} {
		text, cause := says(l)
		err = apierrors.NewForbidden(w.target.Resource.GroupResource(), head(w.name(obj), l.name),
			fmt.Errorf("User %q %s", head(w.user(), l.name), text))
		if cause != (metav1.StatusCause{}) {
			err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, cause)
		}
		if sizeOf(err) <= maxRefusal {
			return err
		}
	}
	for over := sizeOf(err) - maxRefusal; over > 0; over = sizeOf(err) - maxRefusal {
		err.ErrStatus.Message = head(err.ErrStatus.Message, max(0, len(err.ErrStatus.Message)-over-len(ellipsis)))
	}
	return err
}

func sizeOf(err *apierrors.StatusError) int {
	text, failed := json.Marshal(err.ErrStatus)
	if failed != nil {
		return 0
	}
	return len(text)
}

const ellipsis = "..."

// head returns the beginning of a text that is longer than a limit. It does not end
// inside a character.
func head(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + ellipsis
}

// logged is what the log shows of an error.
func logged(err error) error {
	if text := err.Error(); len(text) > maxRefusal {
		return errors.New(head(text, maxRefusal))
	}
	return err
}
