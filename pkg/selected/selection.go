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
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/pkg/delegation"
)

// Selection implements all methods of seam.Selection, the interface through which the patched API
// server calls this package, except Commit, which issue.FinalChecks has.
type Selection struct {
	// Delegations are the delegations that a caller can select. It is nil if the server does not
	// serve AuthorityDelegations.
	Delegations *delegation.Index
	// Bound are the service accounts that act under a delegation without selecting it. It is nil if
	// the server does not serve AuthorityDelegations.
	Bound *Bound
	// Covered remembers which roles callers can select without being bound to them. If it is nil,
	// nothing is remembered.
	Covered *Covered
}

// Rules returns a resolver that lists the rules of users. For a user with a selection, it lists
// only the rules of the selected authority. For all other users, it asks the given resolver.
func (Selection) Rules(resolver authorizer.RuleResolver) authorizer.RuleResolver {
	return rules{resolver, rbacOf(resolver)}
}

// Forbidden returns the error of a request that the selected delegation refuses, and stores the
// reason in u for the audit event.
func Forbidden(ctx context.Context, u *User, refusal *delegation.Refusal) error {
	u.refused.Store(refusal)
	info, _ := request.RequestInfoFrom(ctx)
	if info == nil {
		info = &request.RequestInfo{}
	}
	if refusal.Reason == delegation.DelegatorUnknown {
		return apierrors.NewServiceUnavailable(refusal.Message)
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name, refusal)
}

// Request returns an authenticator that calls a and removes the selection from the user that a
// returns: a selection belongs to a request, never to an identity.
func (Selection) Request(a authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		response, ok, err := a.AuthenticateRequest(req)
		return withoutSelectionIn(response), ok, err
	})
}

// Token does for token authenticators what Request does for request authenticators.
func (Selection) Token(a authenticator.Token) authenticator.Token {
	return authenticator.TokenFunc(func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		response, ok, err := a.AuthenticateToken(ctx, token)
		return withoutSelectionIn(response), ok, err
	})
}

func withoutSelectionIn(response *authenticator.Response) *authenticator.Response {
	if response == nil || !Selects(response.User) {
		return response
	}
	out := *response
	out.User = WithoutSelection(response.User)
	return &out
}
