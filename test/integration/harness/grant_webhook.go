// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// GrantWebhook is an authorization webhook that knows each caller's verbs, so that a
// grant is there the moment a test makes it up, and keeps what it was asked. About
// everybody else it has no opinion.
type GrantWebhook struct {
	mu    sync.Mutex
	known map[string]*Caller
}

// Caller is one user of one test.
type Caller struct {
	callers *GrantWebhook
	name    string
	// allows reports which questions are allowed.
	allows func(Question) bool
	asked  []Question
}

// Question is what the webhook is asked about a caller.
type Question struct {
	Verb, Group, Resource, Subresource, Namespace, Name string
}

// ResourceWithSubresource is written as in a role.
func (q Question) ResourceWithSubresource() string {
	if q.Subresource == "" {
		return q.Resource
	}
	return q.Resource + "/" + q.Subresource
}

// AddCaller makes a caller known that holds some verbs on everything.
func (c *GrantWebhook) AddCaller(name string, verbs ...string) *Caller {
	return c.AddCallerFunc(name, func(q Question) bool { return slices.Contains(verbs, q.Verb) })
}

// AddCallerFunc makes a caller known whose questions may answers.
func (c *GrantWebhook) AddCallerFunc(name string, may func(Question) bool) *Caller {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]*Caller{}
	}
	c.known[name] = &Caller{callers: c, name: name, allows: may}
	return c.known[name]
}

// Allows returns what reports which questions about a caller are allowed.
func (c *GrantWebhook) Allows(name string) func(Question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[name].allows
}

// Verbs are those that were asked since the last time, in order. Two equal ones
// in a row are kept: none is to be asked twice.
func (c *Caller) Verbs() []string {
	c.callers.mu.Lock()
	defer c.callers.mu.Unlock()
	var out []string
	for _, q := range c.asked {
		out = append(out, q.Verb)
	}
	c.asked = nil
	return out
}

func (c *GrantWebhook) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	Review(w, req, func(review *authorizationv1.SubjectAccessReview) error {
		review.Status = authorizationv1.SubjectAccessReviewStatus{}
		if a := review.Spec.ResourceAttributes; a != nil {
			review.Status.Allowed = c.answer(review.Spec.User, Question{a.Verb, a.Group, a.Resource, a.Subresource, a.Namespace, a.Name})
		}
		return nil
	})
}

func (c *GrantWebhook) answer(user string, q Question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.known[user]
	if known == nil {
		return false
	}
	// What admission asks for itself is not the caller's request.
	if !strings.HasPrefix(q.Verb, "bypass") {
		known.asked = append(known.asked, q)
	}
	return known.allows(q)
}
