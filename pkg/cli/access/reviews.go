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

// Target is the resource or object that an access review is about.
type Target struct {
	Group, Version, Resource, Subresource, Namespace, Name string
	// AnyName is set if the target is any object, so that a rule for certain names counts.
	AnyName bool
}

// Answer is the answer of an access review.
type Answer struct {
	Allowed, Denied bool
	// Reason is the authorizer's reason, such as the binding that allows the request.
	Reason string
}

// Reviews sends access reviews about the user whose credentials a client has, and caches the
// answers. It is not safe for concurrent use.
type Reviews struct {
	client authorizationclient.SelfSubjectAccessReviewInterface
	cache  map[cacheKey]Answer
}

type cacheKey struct {
	Target
	verb string
}

// NewReviews returns Reviews about the caller of a client.
func NewReviews(client authorizationclient.AuthorizationV1Interface) *Reviews {
	return &Reviews{client: client.SelfSubjectAccessReviews(), cache: map[cacheKey]Answer{}}
}

// Ask returns whether the caller holds a verb.
func (r *Reviews) Ask(ctx context.Context, verb string, target Target) (Answer, error) {
	q := cacheKey{target, verb}
	if known, ok := r.cache[q]; ok {
		return known, nil
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: target.Group, Version: target.Version, Resource: target.Resource, Subresource: target.Subresource,
			Namespace: target.Namespace, Name: target.Name,
		},
	}}
	answer, err := r.client.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return Answer{}, fmt.Errorf("review whether %q is allowed: %w", verb, err)
	}
	if s := answer.Status; !s.Allowed && !s.Denied && s.EvaluationError != "" {
		return Answer{}, fmt.Errorf("review whether %q is allowed: %s", verb, s.EvaluationError)
	}
	out := Answer{answer.Status.Allowed, answer.Status.Denied, answer.Status.Reason}
	r.cache[q] = out
	return out, nil
}

// authorizer implements decide.Authorizer for one target by access reviews.
type authorizer struct {
	reviews *Reviews
	target  Target
}

var _ decide.Authorizer = authorizer{}

// FirstAllowed returns the index of the first of the verbs that the caller holds, or -1. It
// implements decide.Authorizer.
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
