// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/delegation"
)

// underBinding returns the caller of a request under its binding. selecting is the caller with the
// authority that the request selects, or nil if it selects none.
func (sel Selection) underBinding(req *http.Request, b *accountBinding, selecting *User, caller user.Info) (*User, error) {
	out, refusal := b.user(caller), (*delegation.Refusal)(nil)
	if selecting != nil {
		out, refusal = b.narrowed(req.Context(), sel.Delegations, selecting)
	}
	if refusal == nil && httpstream.IsUpgradeRequest(req) {
		refusal = &delegation.Refusal{Reason: delegation.Bound, Message: errConnection.Error()}
	}
	if refusal == nil && b.problem != nil && b.problem.Reason == delegation.BindingUnknown {
		refusal = b.problem
	}
	if refusal != nil {
		return nil, sel.refuseBound(req.Context(), b, caller, refusal)
	}
	return out, nil
}

// refuseBound records the refusal of a request of a bound service account, and returns its error.
func (sel Selection) refuseBound(ctx context.Context, b *accountBinding, caller user.Info, refusal *delegation.Refusal) error {
	u := b.user(caller)
	audit.Selected(ctx, u.auditText())
	if sel.Delegations != nil {
		chain, _ := u.Chain(ctx, sel.Delegations)
		audit.Chain(ctx, u.entries(ctx, chain))
	}
	reportRefusal(ctx, refusal)
	if refusal.Reason == delegation.BindingUnknown {
		return apierrors.NewServiceUnavailable(refusal.Message)
	}
	info, _ := request.RequestInfoFrom(ctx)
	if info == nil {
		info = &request.RequestInfo{}
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name, refusal)
}

// checkImpersonator returns an error if a bound service account impersonates another user. The
// impersonation filter asks the authorizer, too, which also refuses, but it remembers answers for a while.
func (sel Selection) checkImpersonator(req *http.Request) error {
	if len(req.Header[authenticationv1.ImpersonateUserHeader]) == 0 {
		return nil
	}
	caller, _ := request.UserFrom(req.Context())
	b := sel.Bound.of(caller)
	if b == nil {
		return nil
	}
	return sel.refuseBound(req.Context(), b, caller, &delegation.Refusal{Reason: delegation.Bound, Message: errImpersonation.Error()})
}

// entries returns the audit entries of a request under a delegation. chain is nil if this server does not
// know the delegation.
func (u *User) entries(ctx context.Context, chain *delegation.Chain) []v1alpha1.ChainEntry {
	out := []v1alpha1.ChainEntry{{Via: v1alpha1.ViaDelegation, Name: delegation.Truncate(u.reference.Name), UID: u.reference.UID}}
	if chain != nil {
		out = chain.Entries()
	}
	return append(out, Handovers(ctx, u.ambient)...)
}

// auditText returns the selection for the audit event. It tells whether the caller selected the
// authority or is bound to it.
func (u *User) auditText() string {
	text := u.text()
	if u.bound == nil {
		return text
	}
	return text[:len(text)-1] + `,"via":"Binding"}`
}
