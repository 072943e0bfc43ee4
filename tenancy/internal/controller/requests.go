// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/terms"
)

// requests writes the status of requests for sudo: whether they are granted, and until when. The
// reconciler of tenants then gives sudo to those whose request is granted.
type requests struct {
	client.Client
	// live reads from the server, so that somebody who was just removed from a list can't approve.
	live     client.Reader
	recorder events.EventRecorder
}

// addRequests adds the reconciler of requests for sudo to a manager.
func addRequests(mgr ctrl.Manager, w writer, recorder events.EventRecorder) error {
	ofTenant := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, t client.Object) []reconcile.Request {
		list := &v1alpha1.SudoRequestList{}
		if err := mgr.GetClient().List(ctx, list, client.InNamespace(t.GetName()), client.UnsafeDisableDeepCopy); err != nil {
			return nil // does not happen: the list is read from the cache in memory
		}
		var all []reconcile.Request
		for i := range list.Items {
			if !list.Items[i].Status.State.IsFinal() {
				all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
		return all
	})
	return ctrl.NewControllerManagedBy(mgr).Named("request").
		For(&v1alpha1.SudoRequest{}).
		Watches(&v1alpha1.LNamespace{}, ofTenant).
		Complete(&requests{Client: w.Client, live: w.live, recorder: recorder})
}

// toTenantOfNamespace returns a handler that reconciles the tenant in whose namespace an object is.
func toTenantOfNamespace() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return request(object.GetNamespace())
	})
}

// Reconcile updates the status of a request, or deletes a request that was finished long ago.
func (r *requests) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	q := &v1alpha1.SudoRequest{}
	if err := r.Get(ctx, req.NamespacedName, q); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	at := time.Now()
	if terms.IsOld(q, at) {
		return reconcile.Result{}, client.IgnoreNotFound(r.Delete(ctx, q, client.Preconditions{UID: &q.UID}))
	}
	if !q.Status.State.IsFinal() {
		if err := r.judge(ctx, q, at); err != nil {
			return reconcile.Result{}, err
		}
	}
	again := terms.Again(q, q.Status, at)
	if !q.Status.State.IsFinal() {
		again = min(again, clockInterval)
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// judge writes the status of a request if it has changed. If somebody changed the request meanwhile, for
// example denied it, the server refuses to write.
func (r *requests) judge(ctx context.Context, q *v1alpha1.SudoRequest, at time.Time) error {
	t := &v1alpha1.LNamespace{}
	err := r.live.Get(ctx, client.ObjectKey{Name: q.Namespace}, t)
	if apierrors.IsNotFound(err) {
		t = nil
	} else if err != nil {
		return fmt.Errorf("tenant of SudoRequest %s/%s: %w", q.Namespace, q.Name, err)
	}
	before := q.DeepCopy()
	if q.Status.State == "" {
		list := &v1alpha1.SudoRequestList{}
		if err := r.List(ctx, list, client.InNamespace(q.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list the requests for sudo in %s: %w", q.Namespace, err)
		}
		q.Status = terms.JudgeNew(t, q, list.Items, at)
	} else {
		q.Status = terms.Judge(t, q, at)
	}
	if equality.Semantic.DeepEqual(before.Status, q.Status) {
		return nil
	}
	if err := r.Status().Patch(ctx, q, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(err)
	}
	if t != nil && before.Status.State != q.Status.State && q.Status.State != v1alpha1.RequestPending {
		note := fmt.Sprintf("the request %s of %q for %s: %s", q.Name, q.Spec.Requester.Username, q.Spec.Duration, q.Status.Message)
		if q.Status.Until != nil {
			note += fmt.Sprintf(", until %s", q.Status.Until.UTC().Format(time.RFC3339))
		}
		reason, related := "Sudo"+string(q.Status.State), runtime.Object(q)
		if terms.IsCrowded(q.Status) {
			related = nil // so that all of them are one event
		}
		r.recorder.Eventf(t, related, corev1.EventTypeNormal, reason, "Judge", "%s", bounded(note+": "+q.Spec.Reason, maxMessage))
	}
	return nil
}

// present returns a copy of the LNamespace with the entries that are in force, and with the sudo that
// requests give.
func (r *Tenants) present(ctx context.Context, t *v1alpha1.LNamespace, at time.Time) (*v1alpha1.LNamespace, error) {
	list := &v1alpha1.SudoRequestList{}
	if t.Spec.Sudo.IsOnRequest() {
		if err := r.List(ctx, list, client.InNamespace(t.Name), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list the requests for sudo of %s: %w", t.Name, err)
		}
	}
	return terms.Present(t, list.Items, at), nil
}
