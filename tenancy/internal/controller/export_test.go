// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// What tests of this package look at from outside.
const (
	DelegatorIndex    = delegatorIndex
	ReasonNotOurs     = reasonNotOurs
	ReasonTerminating = reasonTerminating
)

// AsDelegator marks requests that are a tenant's.
var AsDelegator = asDelegator

// Delegator returns the transport of such requests.
func Delegator(next http.RoundTripper) http.RoundTripper { return delegator{next} }

// Unseen is what was made and the cache has yet to see.
type Unseen = pendingCache

// Add, But, Forget and Empty are the methods of the same names.
func (u *pendingCache) Add(tenant string, d *authority.AuthorityDelegation) { u.add(tenant, d) }

// But returns what is unseen beside what the cache has.
func (u *pendingCache) But(tenant string, seen []authority.AuthorityDelegation) []authority.AuthorityDelegation {
	return u.notIn(tenant, seen)
}

// Forget drops what was deleted.
func (u *pendingCache) Forget(tenant, name string) { u.forget(tenant, name) }

// Empty reports whether nothing is kept.
func (u *pendingCache) Empty() bool { return len(u.created) == 0 }

// Delegations makes and revokes delegations.
type Delegations = delegations

// NewDelegations returns them on a client.
func NewDelegations(c client.Client) *Delegations {
	return &delegations{writer: writer{Client: c, live: c}}
}

// Made keeps a delegation as unseen.
func (d *delegations) Made(tenant string, made *authority.AuthorityDelegation) {
	d.unseen.add(tenant, made)
}

// Revoke deletes what is left to nobody who stays.
func (d *delegations) Revoke(ctx context.Context, tenant string, stay []v1alpha1.Subject) ([]authority.AuthorityDelegation, error) {
	return d.revoke(ctx, tenant, stay, false)
}

// Belongs returns whether a namespace is a tenant's.
func Belongs(lns *v1alpha1.LNamespace, ns *metav1.PartialObjectMetadata) (reason string, adopted bool, uid types.UID) {
	h := ownership(lns, ns)
	return h.reason, h.adopted, h.uid
}
