// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package examplewebhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"

	"kube-granular.dev/pkg/examplewebhook/policy"
)

// Record is a SubjectAccessReview with the answer of the policy.
type Record struct {
	Review authorizationv1.SubjectAccessReviewSpec `json:"asked"`
	Answer policy.Answer                           `json:"answer"`
}

// String returns one line with the user, the request and the answer.
func (a Record) String() string {
	said := string(a.Answer.Decision)
	if a.Answer.Fault != nil {
		said = "fault"
	}
	if a.Answer.Reason != "" {
		said += " (" + a.Answer.Reason + ")"
	}
	return fmt.Sprintf("%s %s: %s", a.Review.User, describeRequest(a.Review), said)
}

// describeRequest returns the verb and the object of a review, or the verb and the path for a
// non-resource request.
func describeRequest(asked authorizationv1.SubjectAccessReviewSpec) string {
	if path := asked.NonResourceAttributes; path != nil {
		return path.Verb + " " + path.Path
	}
	a := asked.ResourceAttributes
	if a == nil {
		return "nothing"
	}
	resource := a.Resource
	if a.Group != "" {
		resource += "." + a.Group
	}
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	object := a.Name
	if a.Namespace != "" {
		object = a.Namespace + "/" + a.Name
	}
	return strings.TrimSpace(a.Verb + " " + resource + " " + object)
}

// maxReview is the maximum size in bytes of a request body.
const maxReview = 1 << 20

type handler struct {
	policy   *policyFile
	onReview func(Record)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	review := &authorizationv1.SubjectAccessReview{}
	if err := json.NewDecoder(io.LimitReader(req.Body, maxReview)).Decode(review); err != nil {
		http.Error(w, fmt.Sprintf("the body is not a review: %v", err), http.StatusBadRequest)
		return
	}
	if review.APIVersion != authorizationv1.SchemeGroupVersion.String() || review.Kind != "SubjectAccessReview" {
		http.Error(w, fmt.Sprintf("the body is a %[2]s of %[3]s and not a SubjectAccessReview of %[1]s: set subjectAccessReviewVersion: v1",
			authorizationv1.SchemeGroupVersion, review.Kind, review.APIVersion), http.StatusBadRequest)
		return
	}
	answer := h.policy.current().Decide(&review.Spec)
	if h.onReview != nil {
		h.onReview(Record{review.Spec, answer})
	}
	if f := answer.Fault; f != nil {
		if !waitFor(req, f.Delay.Duration) {
			return
		}
		switch {
		case f.Hangup:
			panic(http.ErrAbortHandler)
		case f.Status != 0:
			http.Error(w, "the policy has a fault for this review", f.Status)
			return
		case f.Garbage:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":"garbage"}`)
			return
		}
	}
	review.Status = answer.Status()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// waitFor waits for a time, and returns false if the client disconnects before it is over.
func waitFor(req *http.Request, delay time.Duration) bool {
	if delay == 0 {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-req.Context().Done():
		return false
	}
}

// policyFile is a policy that is read again when its file changes.
type policyFile struct {
	file    string
	onError func(error)

	mu     sync.Mutex
	data   []byte
	policy *policy.Policy
}

func openPolicyFile(file string, failed func(error)) (*policyFile, error) {
	r := &policyFile{file: file, onError: failed}
	data, err := os.ReadFile(file)
	if err == nil {
		r.policy, err = policy.Parse(data)
	}
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", file, err)
	}
	r.data = data
	return r, nil
}

// current returns the policy in the file. If the file can't be read or is not valid, it returns the
// last valid policy.
func (r *policyFile) current() *policy.Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := os.ReadFile(r.file)
	if err == nil && bytes.Equal(data, r.data) {
		return r.policy
	}
	var now *policy.Policy
	if err == nil {
		r.data = data
		now, err = policy.Parse(data)
	}
	if err != nil {
		if r.onError != nil {
			r.onError(fmt.Errorf("policy %s: %w; the last valid policy stays in effect", r.file, err))
		}
		return r.policy
	}
	r.policy = now
	return now
}
