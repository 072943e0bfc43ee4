// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/metrics"
)

// checkServed returns an error if the caller selected a delegation and this server can't look up
// delegations: it does not serve them, or has not read them yet.
func (sel Selection) checkServed(u *User) error {
	switch {
	case !u.SelectsDelegation():
		return nil
	case sel.Delegations == nil:
		return apierrors.NewBadRequest(ErrNotServed.Error())
	case !sel.Delegations.HasSynced():
		return apierrors.NewServiceUnavailable("the server has not read the AuthorityDelegations yet")
	}
	return nil
}

var errConditionsUnverified = errors.New("the selected AuthorityDelegation has conditions, which can't be verified for this request")

// auditChain records in the audit event on whose behalf the request is made, and returns the chain
// of the selected delegation, or nil if the delegation is unknown. It returns an error if this
// server can't tell yet whether a delegator of the chain still exists.
func (sel Selection) auditChain(ctx context.Context, u *User) (*delegation.Chain, error) {
	chain, refusal := u.Chain(ctx, sel.Delegations)
	if chain == nil && u.bound == nil {
		return nil, nil
	}
	audit.Chain(ctx, u.entries(ctx, chain))
	if chain == nil {
		return nil, nil
	}
	if refusal != nil && refusal.Reason == delegation.DelegatorUnknown {
		reportRefusal(ctx, refusal)
		return nil, apierrors.NewServiceUnavailable(refusal.Message)
	}
	return chain, nil
}

// requireConditions returns the context for the rest of a request. If the chain has conditions, that
// context carries an error, with which every code path refuses the request that would store an
// object without verifying the conditions. chain can be nil.
func requireConditions(ctx context.Context, chain *delegation.Chain) context.Context {
	info, ok := request.RequestInfoFrom(ctx)
	if chain == nil || !ok || !info.IsResourceRequest || selfReviews[schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}] ||
		!chain.Conditional() {
		return ctx
	}
	return seam.WithRefusal(ctx, errConditionsUnverified)
}

// reportResult counts a request under a delegation, and records in the audit event why the delegation
// refused it, if it did. A request that failed before the delegation was asked is not counted.
func reportResult(ctx context.Context, u *User) {
	if refusal := u.refused.Load(); refusal != nil {
		reportRefusal(ctx, refusal)
	} else if u.allowed.Load() {
		metrics.DelegationAllowed()
	}
}

// reportRefusal counts a request that is refused because of a delegation, and records the reason in the
// audit event.
func reportRefusal(ctx context.Context, refusal *delegation.Refusal) {
	audit.Refused(ctx, string(refusal.Reason))
	metrics.DelegationRefused(string(refusal.Reason))
}

type impersonatorKey struct{}

// withImpersonator returns the request with its sender stored in its context.Context, if the
// request impersonates a user. It is called before the impersonated user replaces the sender as the
// user of the request.
func (sel Selection) withImpersonator(req *http.Request) *http.Request {
	if sel.Delegations == nil || len(req.Header[authenticationv1.ImpersonateUserHeader]) == 0 {
		return req
	}
	u, ok := request.UserFrom(req.Context())
	if !ok {
		return req
	}
	return req.WithContext(context.WithValue(req.Context(), impersonatorKey{}, u))
}

// Handovers returns audit entries for how the sender of the request came to act as the caller: by
// a service account token, which can be bound to a Pod or a Node, by impersonation, or by both. The
// result is empty if the sender used neither.
func Handovers(ctx context.Context, caller user.Info) (out []v1alpha1.ChainEntry) {
	if impersonator, ok := ctx.Value(impersonatorKey{}).(user.Info); ok {
		out = append(out, v1alpha1.ChainEntry{Via: v1alpha1.ViaImpersonation, By: delegation.Truncate(impersonator.GetName()),
			ByUID: delegation.Truncate(impersonator.GetUID())})
		caller = impersonator
	}
	first := func(key string) string {
		if values := caller.GetExtra()[key]; len(values) > 0 {
			return delegation.Truncate(values[0])
		}
		return ""
	}
	e := v1alpha1.ChainEntry{Via: v1alpha1.ViaToken, By: delegation.Truncate(caller.GetName()), ByUID: delegation.Truncate(caller.GetUID()),
		Credential: first(user.CredentialIDKey)}
	switch {
	case first(serviceaccount.PodNameKey) != "":
		e.Name, e.UID = "Pod/"+first(serviceaccount.PodNameKey), types.UID(first(serviceaccount.PodUIDKey))
	case first(serviceaccount.NodeNameKey) != "":
		e.Name, e.UID = "Node/"+first(serviceaccount.NodeNameKey), types.UID(first(serviceaccount.NodeUIDKey))
	}
	if _, _, err := serviceaccount.SplitUsername(caller.GetName()); err == nil && (e.Name != "" || e.Credential != "") {
		// The entry of the token comes first, because the sender used the token to request the
		// impersonation.
		out = append([]v1alpha1.ChainEntry{e}, out...)
	}
	return out
}
