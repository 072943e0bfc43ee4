// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/names"
)

// Tenants reconciles LNamespaces.
type Tenants struct {
	writer
	// Options are the options for all tenants.
	grants.Options
	Creation
	// Finalizers are the finalizers of other controllers that an LNamespace gets with the first one.
	Finalizers []string
	// Recorder records events.
	Recorder events.EventRecorder
	// delegations manages the delegations of sudo. It is nil if sudo works by impersonation.
	delegations *delegations
	// examined has what was found of former sudoers a moment ago.
	examined examinations
}

// Reconcile creates, repairs and deletes the objects of one tenant, so that they match the lists
// of members in its LNamespace, and updates the status of the LNamespace.
func (r *Tenants) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	t := &v1alpha1.LNamespace{}
	err := r.Get(ctx, req.NamespacedName, t)
	if apierrors.IsNotFound(err) {
		// Somebody else removed the finalizer, or the cache is stale.
		return reconcile.Result{}, r.revoke(ctx, &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: req.Name}}, false, false)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if t.DeletionTimestamp != nil {
		return reconcile.Result{}, r.finish(ctx, t)
	}
	if err := r.finalizers(ctx, t, controllerutil.AddFinalizer, append([]string{names.Finalizer}, r.Finalizers...)...); err != nil {
		return reconcile.Result{}, errors.Join(err, r.shrink(ctx, t))
	}
	h, err := r.namespace(ctx, t)
	if err != nil {
		return reconcile.Result{}, errors.Join(err, r.shrink(ctx, t))
	}
	if h.reason != "" {
		// A controller that stopped before the first status may have granted something.
		if err := r.revoke(ctx, t, t.Status.NamespaceUID != "" || isFirst(t), false); err != nil {
			return reconcile.Result{}, err
		}
		result := reconcile.Result{}
		if h.again {
			result.RequeueAfter = creationInterval
		}
		return result, r.record(ctx, t, func(s *v1alpha1.LNamespaceStatus) {
			s.Granted, s.Sudo, s.Delegations = v1alpha1.Granted{}, nil, nil
			for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionNamespaceReady} {
				condition(t, s, kind, metav1.ConditionFalse, h.reason, h.message)
			}
		})
	}
	// The UID is written to the status before permissions are granted, so that a restarted controller
	// knows that the namespace belongs to the tenant. That is not needed for the first namespace that the
	// controller created: while there is no status, the annotation of the namespace says the same.
	owned := func(s *v1alpha1.LNamespaceStatus) { s.NamespaceUID, s.Adopted = h.uid, h.adopted }
	if (t.Status.NamespaceUID != h.uid || t.Status.Adopted != h.adopted) && !(h.isNew && isFirst(t)) {
		if err := r.record(ctx, t, owned); err != nil {
			return reconcile.Result{}, err
		}
	}
	at := time.Now()
	present, err := r.present(ctx, t, at)
	if err != nil {
		return reconcile.Result{}, err
	}
	delegated, failed := r.grant(ctx, present, isSettled(t, present), h.isNew)
	if errors.Is(failed, errNoRules) { // just after the start of the controller, before the first discovery
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	left, err := r.leftovers(ctx, t, present, at)
	if failed != nil || err != nil {
		return reconcile.Result{}, errors.Join(failed, err, r.record(ctx, t, func(s *v1alpha1.LNamespaceStatus) {
			owned(s)
			if failed != nil && !isConflict(failed) {
				condition(t, s, v1alpha1.ConditionReady, metav1.ConditionFalse, reasonFailed, failed.Error())
			}
			if err == nil {
				left.record(t, s)
			}
		}))
	}
	result := reconcile.Result{}
	if left.again {
		result.RequeueAfter = leftoversInterval
	}
	if err := r.record(ctx, t, func(s *v1alpha1.LNamespaceStatus) {
		owned(s)
		s.ObservedGeneration = t.Generation
		s.SudoGroup = names.SudoGroup(t.Name)
		s.Granted = v1alpha1.Granted{
			Users: unique(present.Spec.Users), Managers: unique(present.Spec.Managers), Sudoers: unique(present.Spec.Sudoers),
		}
		s.Sudo, s.Delegations = present.Status.Sudo, delegated.granted
		condition(t, s, v1alpha1.ConditionNamespaceReady, metav1.ConditionTrue, reasonThere, "")
		if delegated.refused != nil {
			condition(t, s, v1alpha1.ConditionReady, metav1.ConditionFalse, reasonRefused, delegated.refused.Error())
		} else {
			condition(t, s, v1alpha1.ConditionReady, metav1.ConditionTrue, reasonGranted, "")
		}
		left.record(t, s)
	}); err != nil {
		return reconcile.Result{}, err
	}
	for i := range delegated.outdated {
		if err := r.delegations.delete(ctx, &delegated.outdated[i]); err != nil {
			return reconcile.Result{}, err
		}
	}
	return result, nil
}

// isFirst reports whether the tenant has no status of the controller of tenants yet.
func isFirst(t *v1alpha1.LNamespace) bool {
	return t.Status.NamespaceUID == "" && len(t.Status.Conditions) == 0
}

// finalizers adds or removes finalizers of an LNamespace, by one patch of only
// metadata.finalizers. An update could also write default values to the spec, for which the
// controller would need the verbs of the lists.
func (r *Tenants) finalizers(ctx context.Context, t *v1alpha1.LNamespace, change func(client.Object, string) bool, all ...string) error {
	before, changed := t.DeepCopy(), false
	for _, finalizer := range all {
		changed = change(t, finalizer) || changed
	}
	if !changed {
		return nil
	}
	return r.Patch(ctx, t, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// record calls the function change, which changes the status. If the status then differs, record
// writes it to the server.
func (r *Tenants) record(ctx context.Context, t *v1alpha1.LNamespace, change func(*v1alpha1.LNamespaceStatus)) error {
	before := t.DeepCopy()
	change(&t.Status)
	if equality.Semantic.DeepEqual(before.Status, t.Status) {
		return nil
	}
	return r.Status().Patch(ctx, t, client.MergeFrom(before))
}

func condition(t *v1alpha1.LNamespace, s *v1alpha1.LNamespaceStatus, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: bounded(message, maxMessage), ObservedGeneration: t.Generation,
	})
}

// maxMessage is the maximum length of the message of a condition, in bytes. The server refuses
// longer messages than 32,768 bytes, and the whole status with them.
const maxMessage = 1024

// bounded returns the text, cut to at most n bytes if it is longer. It does not cut a character in
// two.
func bounded(text string, n int) string {
	if len(text) <= n {
		return text
	}
	const more = "..."
	cut := n - len(more)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}

// unique returns a copy of the list without duplicates and without the ends of its entries. In the copy,
// an empty kind is set to User.
func unique(list []v1alpha1.Subject) []v1alpha1.Subject {
	var result []v1alpha1.Subject
	for _, s := range list {
		if s = s.Bare(); !slices.Contains(result, s) {
			result = append(result, s)
		}
	}
	return result
}

func (r *Tenants) repaired(t *v1alpha1.LNamespace, object client.Object, format string, args ...any) {
	repairs.WithLabelValues(kindOf(object)).Inc()
	// The repaired object is the related object of the event. Without a related object, the events
	// about different repaired objects of a tenant would be merged.
	r.Recorder.Eventf(t, object, corev1.EventTypeWarning, "Repaired", "Repair", format, args...)
}

func (r *Tenants) event(t *v1alpha1.LNamespace, kind, reason, action, format string, args ...any) {
	// The server refuses notes that are longer.
	r.Recorder.Eventf(t, nil, kind, reason, action, "%s", bounded(fmt.Sprintf(format, args...), maxMessage))
}
