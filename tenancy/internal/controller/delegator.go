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

// asDelegator returns a context whose requests are sent as the delegator of a tenant.
func asDelegator(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, delegatorKey{}, tenant)
}

// delegator is a RoundTripper that impersonates the delegator of a tenant. It never sends a
// request as the controller itself, whose permissions must not be delegated.
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

// newDelegator returns a client that impersonates the delegator of the tenant in the context of a
// request.
func newDelegator(mgr ctrl.Manager) (client.Client, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return delegator{next} })
	return client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
}

// stripDelegation removes fields that the controller does not read from a delegation in the cache.
// To compare the spec, the name of the delegation is enough: it has a hash of the spec.
func stripDelegation(object any) (any, error) {
	if d, ok := object.(*authority.AuthorityDelegation); ok {
		d.ManagedFields = nil
		d.Spec.Rules, d.Status.Rules, d.Status.History = nil, nil, nil
	}
	return object, nil
}
