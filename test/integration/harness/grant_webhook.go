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

// GrantWebhook is an authorization webhook for tests. A test gives it a caller with verbs, and
// these count from the next request. The webhook stores the questions that the server asks about
// the callers. It has no opinion about other users.
type GrantWebhook struct {
	mu    sync.Mutex
	known map[string]*Caller
}

// Caller is one user of one test, as the webhook knows it.
type Caller struct {
	callers *GrantWebhook
	name    string
	// allows reports whether the webhook allows the caller what a question asks.
	allows func(Question) bool
	asked  []Question
}

// Question is an authorization check that the webhook receives about a caller.
type Question struct {
	Verb, Group, Resource, Subresource, Namespace, Name string
}

// ResourceWithSubresource returns the resource and the subresource in the form that roles use,
// such as deployments/scale.
func (q Question) ResourceWithSubresource() string {
	if q.Subresource == "" {
		return q.Resource
	}
	return q.Resource + "/" + q.Subresource
}

// AddCaller adds a caller that holds these verbs on all resources.
func (c *GrantWebhook) AddCaller(name string, verbs ...string) *Caller {
	return c.AddCallerFunc(name, func(q Question) bool { return slices.Contains(verbs, q.Verb) })
}

// AddCallerFunc adds a caller. The webhook calls the function may for each question about the
// caller, and allows what is asked if it returns true.
func (c *GrantWebhook) AddCallerFunc(name string, may func(Question) bool) *Caller {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]*Caller{}
	}
	c.known[name] = &Caller{callers: c, name: name, allows: may}
	return c.known[name]
}

// Allows returns the function that decides for a caller.
func (c *GrantWebhook) Allows(name string) func(Question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[name].allows
}

// Verbs returns the verbs that the server has asked about for this caller since the last call of
// Verbs, in the order of the questions. A verb that the server asked about twice occurs twice, so
// that a test can find such a mistake.
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
	// With the verb bypass, the server asks whether the caller may ignore protected labels and
	// annotations. This does not depend on the permissions for the fields that the request
	// changes, so the question is not stored.
	if !strings.HasPrefix(q.Verb, "bypass") {
		known.asked = append(known.asked, q)
	}
	return known.allows(q)
}
