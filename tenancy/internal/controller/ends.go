// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/terms"
)

// clockInterval is the interval at which the ends of a tenant are compared with the clock, so that a
// clock that was set does not make an end late for longer.
const clockInterval = 10 * time.Second

// urgent is the priority of a tenant with rights that have ended. Other tenants have 0, and those that
// the controller finds at its start have less.
const urgent = 1

// ends wakes the reconciler of tenants when an entry of a list ends. It has a queue of its own and writes
// nothing, so no failure and no backlog of the other reconciler makes it late.
type ends struct {
	client.Reader
	due chan event.GenericEvent
}

// addEnds adds the reconciler of ends to a manager, and returns the source of the tenants that are due.
func addEnds(mgr ctrl.Manager) (source.Source, error) {
	r := &ends{Reader: mgr.GetClient(), due: make(chan event.GenericEvent)}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.LNamespace{}, endsIndex, indexEnds); err != nil {
		return nil, err
	}
	if err := r.registerOverdue(); err != nil {
		return nil, err
	}
	type queueOfTenants = workqueue.TypedRateLimitingInterface[reconcile.Request]
	first := handler.Funcs{GenericFunc: func(_ context.Context, e event.GenericEvent, q queueOfTenants) {
		if queue, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(urgent)}, request(e.Object.GetName())...)
		} else {
			q.Add(request(e.Object.GetName())[0])
		}
	}}
	return source.Channel(r.due, first), ctrl.NewControllerManagedBy(mgr).Named("ends").For(&v1alpha1.LNamespace{}).Complete(r)
}

// Reconcile sends the tenant to the other reconciler if somebody has rights that have ended, and comes
// back when the next entry ends.
func (r *ends) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	t := &v1alpha1.LNamespace{}
	if err := r.Get(ctx, req.NamespacedName, t); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	at := time.Now()
	if terms.IsOverdue(t, at) {
		select {
		case r.due <- event.GenericEvent{Object: &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: t.Name}}}:
		case <-ctx.Done():
			return reconcile.Result{}, ctx.Err()
		}
	}
	next, found := terms.NextEnd(t, at)
	if !found {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: min(next.Sub(at), clockInterval)}, nil
}

// isSettled reports whether the status of the LNamespace says that the tenant had what it must have now,
// which is in present. Then a difference is somebody else's.
func isSettled(t, present *v1alpha1.LNamespace) bool {
	had, spec := t.Status, present.Spec
	return had.ObservedGeneration == t.Generation && slices.Equal(had.Sudo, present.Status.Sudo) &&
		slices.Equal(had.Granted.Users, unique(spec.Users)) && slices.Equal(had.Granted.Managers, unique(spec.Managers)) &&
		slices.Equal(had.Granted.Sudoers, unique(spec.Sudoers))
}
