// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/internal/names"
)

type delegatorKey struct{}

// asDelegator returns a copy of ctx for requests by the client that newDelegator returns. The
// client sends these requests as the delegator of the tenant: the user who creates its
// delegations.
func asDelegator(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, delegatorKey{}, tenant)
}

// delegator is a RoundTripper that impersonates the delegator of the tenant that asDelegator put
// into the Go context of a request. If the Go context has no tenant, the request fails: it must
// not be sent as the controller itself, whose permissions must not be delegated.
type delegator struct{ next http.RoundTripper }

func (d delegator) RoundTrip(req *http.Request) (*http.Response, error) {
	tenant, _ := req.Context().Value(delegatorKey{}).(string)
	if tenant == "" {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, errors.New("the context has no tenant")
	}
	req = req.Clone(req.Context())
	req.Header.Set(authenticationv1.ImpersonateUserHeader, names.SudoUser(tenant))
	req.Header[authenticationv1.ImpersonateGroupHeader] = []string{names.SudoGroup(tenant), names.Delegators}
	return d.next.RoundTrip(req)
}

// newDelegator returns a client that sends each request as the delegator of a tenant. The caller
// chooses the tenant by a Go context from asDelegator.
func newDelegator(mgr ctrl.Manager) (client.Client, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return delegator{next} })
	return client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
}

// stripDelegation removes some fields of a delegation before it gets into the cache, to save
// memory. The controller does not need these fields. It does not need the rules to compare two
// delegations, because the name of a delegation contains a hash of its spec.
func stripDelegation(object any) (any, error) {
	if d, ok := object.(*authority.AuthorityDelegation); ok {
		d.ManagedFields = nil
		d.Spec.Rules, d.Status.Rules, d.Status.History = nil, nil, nil
	}
	return object, nil
}
