// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/naming"
)

// Constants that are exported for the tests in package controller_test.
const (
	DelegatorIndex    = delegatorIndex
	ReasonNotOurs     = reasonNotOurs
	ReasonTerminating = reasonTerminating
)

// AsDelegator returns a context whose requests are sent as the delegator of a tenant.
var AsDelegator = asDelegator

// Delegator returns the transport that impersonates the delegator of the tenant in the context.
func Delegator(next http.RoundTripper) http.RoundTripper { return delegator{next} }

// Unseen has the created delegations that the informer cache does not have yet.
type Unseen = pendingCache

// Add adds a created delegation of a tenant.
func (u *pendingCache) Add(tenant string, d *authority.AuthorityDelegation) { u.add(tenant, d) }

// But returns the delegations of a tenant that are not in seen, and forgets the others.
func (u *pendingCache) But(tenant string, seen []authority.AuthorityDelegation) []authority.AuthorityDelegation {
	return u.notIn(tenant, seen)
}

// Forget removes a deleted delegation of a tenant.
func (u *pendingCache) Forget(tenant, name string) { u.forget(tenant, name) }

// Empty reports whether there is no delegation of any tenant.
func (u *pendingCache) Empty() bool { return len(u.created) == 0 }

// Delegations creates and revokes delegations.
type Delegations = delegations

// NewDelegations returns Delegations that read and write by the client.
func NewDelegations(c client.Client) *Delegations {
	return &delegations{writer: writer{Client: c, live: c}}
}

// Made records a delegation as created and not yet in the cache.
func (d *delegations) Made(tenant string, made *authority.AuthorityDelegation) {
	d.unseen.add(tenant, made)
}

// Revoke deletes the delegations of a tenant except those for subjects in stay.
func (d *delegations) Revoke(ctx context.Context, tenant string, stay []v1alpha1.Subject) ([]authority.AuthorityDelegation, error) {
	return d.revoke(ctx, tenant, stay, false)
}

// Belongs returns the ownership of a namespace. It belongs to the tenant if reason is empty.
func Belongs(lns *v1alpha1.LNamespace, ns *metav1.PartialObjectMetadata) (reason string, adopted bool, uid types.UID) {
	h := ownership(lns, ns)
	return h.reason, h.adopted, h.uid
}

// Delete deletes an RBAC object by the client, as a writer does.
func Delete(ctx context.Context, c client.Client, object client.Object) error {
	w := writer{Client: c, live: c}
	return w.delete(ctx, object)
}

// Bounded cuts a text.
func Bounded(text string, n int) string { return bounded(text, n) }

// Fairly chooses the leftovers for the status.
func Fairly(found []v1alpha1.Leftover) []v1alpha1.Leftover { return fairly(found) }

// RecordLeftovers writes found leftovers to the status of the LNamespace.
func RecordLeftovers(lns *v1alpha1.LNamespace, found []v1alpha1.Leftover) {
	(&leftovers{list: found}).record(lns, &lns.Status)
}

// IsConflict reports whether an error consists only of conflicts.
var IsConflict = isConflict

// JudgeRequest reconciles a request for sudo by the client.
func JudgeRequest(ctx context.Context, c client.Client, key client.ObjectKey) error {
	_, err := (&requests{Client: c, live: c, recorder: events.NewFakeRecorder(9)}).Reconcile(ctx, reconcile.Request{NamespacedName: key})
	return err
}

// Examinations has what the last examination of each tenant found.
type Examinations = examinations

// List returns what examine returns, or returned a moment ago.
func (e *examinations) List(
	t *v1alpha1.LNamespace, acting []v1alpha1.Subject, at time.Time, examine func() ([]v1alpha1.Leftover, error),
) ([]v1alpha1.Leftover, error) {
	return e.list(t, acting, at, examine)
}

// Ensure makes an object of RBAC as wanted, by a client.
func Ensure(ctx context.Context, c client.Client, want client.Object) error {
	w := writer{Client: c, live: c, unlabelled: c}
	_, err := w.ensure(ctx, want)
	return err
}

// ReconcileTenant reconciles a tenant by a client, with sudo by impersonation.
func ReconcileTenant(ctx context.Context, c client.Client, name string) error {
	r := &Tenants{writer: writer{Client: c, live: c, unlabelled: c}, Options: grants.Options{UserRole: "edit"},
		Creation: Creation{Surveys: &naming.Surveys{}}, Recorder: events.NewFakeRecorder(99)}
	_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
	return err
}

// SubjectsOf returns the subjects of a binding.
var SubjectsOf = subjectsOf

// SudoerIndex is the name of the index of the roles of single sudoers, and TenantOfSudoerRole its function.
const SudoerIndex = sudoerIndex

var TenantOfSudoerRole = tenantOfSudoerRole

// Lookup is where Remove looks for an object that the cache does not have.
type Lookup = lookup

// The values of Lookup.
const (
	CacheOnly       = cacheOnly
	UnlabelledCache = unlabelledCache
	Server          = server
)

// Remove deletes an object, and reports whether it existed.
func Remove(ctx context.Context, cached client.Client, live, unlabelled client.Reader, object client.Object, where Lookup) (bool, error) {
	w := writer{Client: cached, live: live, unlabelled: unlabelled}
	return w.remove(ctx, object, where)
}

// IsFirst reports whether the tenant has no status yet.
var IsFirst = isFirst

// EndsIndex is the index of tenants in which something ends, and IndexEnds returns its values.
const EndsIndex = endsIndex

// IndexEnds returns the values of the index EndsIndex.
var IndexEnds = indexEnds

// Overdue returns the number of tenants in which somebody has rights that have ended.
func Overdue(ctx context.Context, c client.Reader, at time.Time) int {
	return (&ends{Reader: c}).overdue(ctx, at)
}

// ReconcileSelfRoles deletes the roles with a name by which sudoers impersonated themselves.
func ReconcileSelfRoles(ctx context.Context, c client.Client, name string) error {
	r := &selfRoles{writer{Client: c, live: c, unlabelled: c}}
	_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
	return err
}
