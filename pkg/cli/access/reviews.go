// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"kube-granular.dev/granular/decide"
)

// Target is what a verb is asked for.
type Target struct {
	Group, Version, Resource, Subresource, Namespace, Name string
}

// Answer is what an authorizer said about one verb.
type Answer struct {
	Allowed, Denied bool
	// Reason says by what, such as a binding.
	Reason string
}

// Reviews asks access reviews about the caller of a client. Each verb is asked once for each
// target. It is not safe for concurrent use.
type Reviews struct {
	client authorizationclient.SelfSubjectAccessReviewInterface
	cache  map[cacheKey]Answer
}

type cacheKey struct {
	Target
	verb string
}

// NewReviews returns the reviews of the caller of a client.
func NewReviews(client authorizationclient.AuthorizationV1Interface) *Reviews {
	return &Reviews{client: client.SelfSubjectAccessReviews(), cache: map[cacheKey]Answer{}}
}

// Ask asks about one verb.
func (r *Reviews) Ask(ctx context.Context, verb string, of Target) (Answer, error) {
	q := cacheKey{of, verb}
	if known, ok := r.cache[q]; ok {
		return known, nil
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: of.Group, Version: of.Version, Resource: of.Resource, Subresource: of.Subresource,
			Namespace: of.Namespace, Name: of.Name,
		},
	}}
	answer, err := r.client.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return Answer{}, fmt.Errorf("ask whether %q is allowed: %w", verb, err)
	}
	if s := answer.Status; !s.Allowed && !s.Denied && s.EvaluationError != "" {
		return Answer{}, fmt.Errorf("ask whether %q is allowed: %s", verb, s.EvaluationError)
	}
	out := Answer{answer.Status.Allowed, answer.Status.Denied, answer.Status.Reason}
	r.cache[q] = out
	return out, nil
}

// authorizer asks the verbs of one request. It implements decide.Authorizer.
type authorizer struct {
	reviews *Reviews
	target  Target
}

var _ decide.Authorizer = authorizer{}

// FirstAllowed implements decide.Authorizer.
func (a authorizer) FirstAllowed(ctx context.Context, verbs []string) (int, error) {
	var failed error
	for i, verb := range verbs {
		answer, err := a.reviews.Ask(ctx, verb, a.target)
		if err != nil && failed == nil {
			failed = err
		}
		if answer.Allowed {
			return i, failed
		}
	}
	return -1, failed
}
