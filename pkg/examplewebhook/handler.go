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

// Answered is a review and what it was answered with.
type Answered struct {
	Asked  authorizationv1.SubjectAccessReviewSpec `json:"asked"`
	Answer policy.Answer                           `json:"answer"`
}

// String is a line for people: who, what, and the answer.
func (a Answered) String() string {
	said := string(a.Answer.Decision)
	if a.Answer.Fault != nil {
		said = "fault"
	}
	if a.Answer.Reason != "" {
		said += " (" + a.Answer.Reason + ")"
	}
	return fmt.Sprintf("%s %s: %s", a.Asked.User, what(a.Asked), said)
}

// what is the verb and the object, or the path, of a question.
func what(asked authorizationv1.SubjectAccessReviewSpec) string {
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

// maxReview bounds what is read of a request; a review is far smaller.
const maxReview = 1 << 20

type handler struct {
	rules    *rules
	answered func(Answered)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	review := &authorizationv1.SubjectAccessReview{}
	if err := json.NewDecoder(io.LimitReader(req.Body, maxReview)).Decode(review); err != nil {
		http.Error(w, fmt.Sprintf("not a review: %v", err), http.StatusBadRequest)
		return
	}
	if review.APIVersion != authorizationv1.SchemeGroupVersion.String() || review.Kind != "SubjectAccessReview" {
		http.Error(w, fmt.Sprintf("want a SubjectAccessReview of %s, got %s of %s: set subjectAccessReviewVersion: v1", authorizationv1.SchemeGroupVersion, review.Kind, review.APIVersion), http.StatusBadRequest)
		return
	}
	answer := h.rules.current().Decide(&review.Spec)
	if h.answered != nil {
		h.answered(Answered{review.Spec, answer})
	}
	if f := answer.Fault; f != nil {
		if !waited(req, f.Delay.Duration) {
			return
		}
		switch {
		case f.Hangup:
			panic(http.ErrAbortHandler)
		case f.Status != 0:
			http.Error(w, "this is a fault of the policy", f.Status)
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

// waited waits, and reports whether anybody still does.
func waited(req *http.Request, delay time.Duration) bool {
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

// rules are the policy of a file.
type rules struct {
	file   string
	failed func(error)

	mu   sync.Mutex
	read []byte
	last *policy.Policy
}

func newRules(file string, failed func(error)) (*rules, error) {
	r := &rules{file: file, failed: failed}
	data, err := os.ReadFile(file)
	if err == nil {
		r.last, err = policy.Parse(data)
	}
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", file, err)
	}
	r.read = data
	return r, nil
}

// current returns the policy of the file, or what it was when it could be read last.
func (r *rules) current() *policy.Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := os.ReadFile(r.file)
	if err == nil && bytes.Equal(data, r.read) {
		return r.last
	}
	var now *policy.Policy
	if err == nil {
		r.read = data
		now, err = policy.Parse(data)
	}
	if err != nil {
		if r.failed != nil {
			r.failed(fmt.Errorf("policy %s: %w; the last one that could be read goes on", r.file, err))
		}
		return r.last
	}
	r.last = now
	return now
}
