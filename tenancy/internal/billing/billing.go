// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/billing/store"
)

// Finalizer blocks the deletion of an LNamespace until its last billing period is in the table.
const Finalizer = "tenancy.kube-granular.dev/billing"

// maxPending is the maximum number of pending periods in the status of an LNamespace: periods that
// have ended and are not in the table yet. While the status has so many, changes of the account wait
// in the annotation that records them.
const maxPending = 256

// maxPendingBytes limits the size of the pending periods in the same way, because an object that is
// too large for etcd can't be written, and then the tenant is never billed.
const maxPendingBytes = 256 << 10

// The limits of billing labels are those of the schema. An LNamespace that was stored before the
// schema had limits may exceed them.
const (
	maxLabels     = 16
	maxLabelKey   = 63
	maxLabelValue = 256
)

// Table is the database table for billing periods.
type Table interface {
	Prepare(context.Context) error
	Put(context.Context, store.Period) error
}

// Reconciler records in the table which account pays for each LNamespace in which period.
type Reconciler struct {
	client.Client
	Table Table
	// Now returns the time.
	Now func() time.Time
	// Recorder records an event about each period whose begin is not known exactly.
	Recorder events.EventRecorder
}

// maxRetry is the longest time between two attempts to write to the table. The default of a controller
// is a thousand seconds, so that a bill would be late long after the table is back.
const maxRetry = 10 * time.Second

// Retries returns the rate limiter for LNamespaces whose periods could not be written.
func Retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, maxRetry)
}

// Add adds the reconciler to a manager.
func Add(mgr ctrl.Manager, table Table) error {
	return ctrl.NewControllerManagedBy(mgr).Named("billing").For(&v1alpha1.LNamespace{}).
		WithOptions(controller.Options{RateLimiter: Retries()}).
		Complete(&Reconciler{Client: mgr.GetClient(), Table: table, Now: time.Now,
			Recorder: mgr.GetEventRecorder("tenancy-controller")})
}

// Reconcile ends the open period of an LNamespace if the account or the billing labels have
// changed, or if the LNamespace is being deleted. It writes all periods that the table does not
// have yet.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	t := &v1alpha1.LNamespace{}
	if err := r.Get(ctx, req.NamespacedName, t); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !controllerutil.ContainsFinalizer(t, Finalizer) {
		return reconcile.Result{}, nil // the controller of tenants adds it, together with its own
	}
	if err := r.updateOutbox(ctx, t); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.flush(ctx, t); err != nil {
		return reconcile.Result{}, fmt.Errorf("billing table: %w", err)
	}
	if Next(t, r.Now()) != nil { // the outbox was full before flush
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil
	}
	if t.DeletionTimestamp != nil {
		before := t.DeepCopy()
		controllerutil.RemoveFinalizer(t, Finalizer)
		return reconcile.Result{}, client.IgnoreNotFound(r.Patch(ctx, t,
			client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
	}
	return reconcile.Result{}, nil
}

// updateOutbox writes the outbox, the periods that Next returns, to the status. If Next returns
// nil, the outbox stays as it is, and updateOutbox writes nothing. It reports the new periods whose
// begin is not known exactly.
func (r *Reconciler) updateOutbox(ctx context.Context, t *v1alpha1.LNamespace) error {
	next := Next(t, r.Now())
	if next == nil {
		return nil
	}
	last := int64(0)
	if t.Status.Billing != nil {
		last = t.Status.Billing.Open.Sequence
	}
	if err := r.write(ctx, t, next); err != nil {
		return err
	}
	for _, p := range next.Pending {
		r.reportLate(t, p, last)
	}
	if next.Open != nil {
		r.reportLate(t, *next.Open, last)
	}
	return nil
}

// reportLate records an event if the begin of the period is not known exactly, and the period is newer
// than the one with the sequence number last.
func (r *Reconciler) reportLate(t *v1alpha1.LNamespace, p v1alpha1.BillingPeriod, last int64) {
	if p.Late && p.Sequence > last {
		r.Recorder.Eventf(t, nil, corev1.EventTypeWarning, "BillingTimeUnknown", "Bill",
			"the time of a change of spec.billing was not recorded: billing period %d begins at %s, and the former account paid until then",
			p.Sequence, p.Start.UTC().Format(time.RFC3339))
	}
}

// flush writes the pending periods and the open period to the table, in order. Then it removes the
// pending periods from the status, and marks the open period as stored.
func (r *Reconciler) flush(ctx context.Context, t *v1alpha1.LNamespace) error {
	b := t.Status.Billing
	if b == nil || len(b.Pending) == 0 && (b.Open == nil || b.OpenStored) {
		return nil
	}
	if err := r.Table.Prepare(ctx); err != nil {
		return err
	}
	all := b.Pending
	if b.Open != nil {
		all = append(append([]v1alpha1.BillingPeriod{}, all...), *b.Open)
	}
	for _, p := range all {
		if err := r.Table.Put(ctx, Row(t, p)); err != nil {
			return err
		}
	}
	next := b.DeepCopy()
	next.Pending, next.OpenStored = nil, b.Open != nil
	return r.write(ctx, t, next)
}

// write writes the outbox next to the status. It returns an error if the LNamespace was changed
// since it was read.
func (r *Reconciler) write(ctx context.Context, t *v1alpha1.LNamespace, next *v1alpha1.BillingStatus) error {
	before := t.DeepCopy()
	t.Status.Billing = next
	if err := r.Status().Patch(ctx, t, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		t.Status.Billing = before.Status.Billing
		return err
	}
	return nil
}
