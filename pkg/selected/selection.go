// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/pkg/delegation"
)

// Selection implements seam.Selection, the interface of the patched API server.
type Selection struct {
	// Delegations are the delegations that a caller can select. It is nil where none can be
	// selected.
	Delegations *delegation.Index
	// PolicyIssuer issues delegations for writes. It is nil where policies are not served.
	PolicyIssuer *PolicyIssuer
}

var _ seam.Selection = Selection{}

// Rules returns a resolver that returns the selected rules for callers who select, and asks
// resolver about others.
func (Selection) Rules(resolver authorizer.RuleResolver) authorizer.RuleResolver {
	return rules{resolver, rbacOf(resolver)}
}

// forbidden returns the error of a request that a delegation refuses, and stores the reason in
// the user.
func forbidden(ctx context.Context, u *User, refusal *delegation.Refusal) error {
	u.refused.Store(refusal)
	info, _ := request.RequestInfoFrom(ctx)
	if info == nil {
		info = &request.RequestInfo{}
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name, refusal)
}

// Request returns an authenticator that removes selections from users: a selection belongs to a
// request and not to an identity.
func (Selection) Request(a authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		response, ok, err := a.AuthenticateRequest(req)
		return withoutSelectionIn(response), ok, err
	})
}

// Token is Request for tokens.
func (Selection) Token(a authenticator.Token) authenticator.Token {
	return authenticator.TokenFunc(func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		response, ok, err := a.AuthenticateToken(ctx, token)
		return withoutSelectionIn(response), ok, err
	})
}

func withoutSelectionIn(response *authenticator.Response) *authenticator.Response {
	if response == nil || !selects(response.User) {
		return response
	}
	out := *response
	out.User = withoutSelection(response.User)
	return &out
}
