// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// callers is an authorization webhook that knows each caller's verbs, so that a
// grant is there the moment a test makes it up, and keeps what it was asked. About
// everybody else it has no opinion.
type callers struct {
	mu    sync.Mutex
	known map[string]*caller
}

// caller is one user of one test.
type caller struct {
	callers *callers
	name    string
	// may says which questions are allowed.
	may   func(question) bool
	asked []question
}

// question is what the webhook is asked about a caller.
type question struct {
	verb, group, resource, subresource, namespace, name string
}

// resourceWithSubresource is written as in a role.
func (q question) resourceWithSubresource() string {
	if q.subresource == "" {
		return q.resource
	}
	return q.resource + "/" + q.subresource
}

// call makes a caller known that holds some verbs on everything.
func (c *callers) call(name string, verbs ...string) *caller {
	return c.callIf(name, func(q question) bool { return slices.Contains(verbs, q.verb) })
}

func (c *callers) callIf(name string, may func(question) bool) *caller {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]*caller{}
	}
	c.known[name] = &caller{callers: c, name: name, may: may}
	return c.known[name]
}

// verbs are those that were asked since the last time, in order. Two equal ones
// in a row are kept: none is to be asked twice.
func (c *caller) verbs() []string {
	c.callers.mu.Lock()
	defer c.callers.mu.Unlock()
	var out []string
	for _, q := range c.asked {
		out = append(out, q.verb)
	}
	c.asked = nil
	return out
}

func (c *callers) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Status = authorizationv1.SubjectAccessReviewStatus{}
	if a := review.Spec.ResourceAttributes; a != nil {
		review.Status.Allowed = c.answer(review.Spec.User, question{a.Verb, a.Group, a.Resource, a.Subresource, a.Namespace, a.Name})
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (c *callers) answer(user string, q question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.known[user]
	if known == nil {
		return false
	}
	// What admission asks for itself is not the caller's request.
	if !strings.HasPrefix(q.verb, "bypass") {
		known.asked = append(known.asked, q)
	}
	return known.may(q)
}
