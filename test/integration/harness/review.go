// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"errors"
	"net/http"
)

// Failure is the error of a webhook that fails instead of deciding.
type Failure struct {
	Code int
	Text string
}

func (f Failure) Error() string { return f.Text }

// Review handles a request of the server to a webhook. The type R is the kind of the request, such
// as AdmissionReview. Review decodes the request, calls answer, which puts the result into the
// object, and sends the object back. If answer returns a Failure, Review sends the status code of
// the Failure. If answer returns another error, Review sends the status 400.
func Review[R any](w http.ResponseWriter, req *http.Request, answer func(review *R) error) {
	review := new(R)
	err := json.NewDecoder(req.Body).Decode(review)
	if err == nil {
		err = answer(review)
	}
	if err != nil {
		code := http.StatusBadRequest
		if failure, ok := errors.AsType[Failure](err); ok {
			code = failure.Code
		}
		http.Error(w, err.Error(), code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
