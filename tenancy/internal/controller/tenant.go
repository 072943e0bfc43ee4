// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"
	"time"

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

// leftoversInterval is the interval at which a tenant is reconciled while former sudoers have
// leftovers: objects that they created or changed with sudo.
const leftoversInterval = 30 * time.Second

// maxMessage is the maximum length in bytes of the message of a condition. The errors about refused
// sudoers can be longer than the 32,768 characters that the schema of conditions allows.
const maxMessage = 4096

// Tenants reconciles LNamespaces.
type Tenants struct {
	writer
	// Options are the options for all tenants.
	grants.Options
	// Reserved are names that tenants must not have, in addition to default and kube-*.
	Reserved []string
	// Recorder records events.
	Recorder events.EventRecorder
	// delegations manages the delegations of sudo. It is nil if sudo works by impersonation.
	delegations *delegations
}

// Reconcile creates, repairs and deletes the objects of one tenant, so that they match the lists
// of members in its LNamespace, and updates the status of the LNamespace.
func (r *Tenants) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	t := &v1alpha1.LNamespace{}
	err := r.Get(ctx, req.NamespacedName, t)
	if apierrors.IsNotFound(err) {
		// Somebody else removed the finalizer, or the cache is stale.
		return reconcile.Result{}, r.revoke(ctx, req.Name, false, false)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if t.DeletionTimestamp != nil {
		return reconcile.Result{}, r.finish(ctx, t)
	}
	if err := r.finalizer(ctx, t, controllerutil.AddFinalizer); err != nil {
		return reconcile.Result{}, err
	}
	h, err := r.namespace(ctx, t)
	if err != nil {
		return reconcile.Result{}, err
	}
	if h.reason != "" {
		if err := r.revoke(ctx, t.Name, t.Status.NamespaceUID != "", false); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, r.record(ctx, t, func(s *v1alpha1.LNamespaceStatus) {
			s.Granted, s.Delegations = v1alpha1.Granted{}, nil
			for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionNamespaceReady} {
				condition(t, s, kind, metav1.ConditionFalse, h.reason, h.message)
			}
		})
	}
	// The UID is written to the status before permissions are granted, so that a restarted
	// controller knows that the namespace belongs to the tenant.
	if t.Status.NamespaceUID != h.uid || t.Status.Adopted != h.adopted {
		if err := r.record(ctx, t, func(s *v1alpha1.LNamespaceStatus) { s.NamespaceUID, s.Adopted = h.uid, h.adopted }); err != nil {
			return reconcile.Result{}, err
		}
	}
	delegated, err := r.grant(ctx, t)
	if errors.Is(err, errNoRules) { // just after the start of the controller, before the first discovery
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	left, err := r.leftovers(ctx, t)
	if err != nil {
		return reconcile.Result{}, err
	}
	result := reconcile.Result{}
	if len(left) > 0 {
		result.RequeueAfter = leftoversInterval
	}
	if err := r.record(ctx, t, func(s *v1alpha1.LNamespaceStatus) {
		s.ObservedGeneration = t.Generation
		s.SudoGroup = names.SudoGroup(t.Name)
		s.Granted = v1alpha1.Granted{Users: unique(t.Spec.Users), Managers: unique(t.Spec.Managers), Sudoers: unique(t.Spec.Sudoers)}
		s.Delegations = delegated.granted
		s.Leftovers = left
		condition(t, s, v1alpha1.ConditionNamespaceReady, metav1.ConditionTrue, reasonThere, "")
		if delegated.refused != nil {
			condition(t, s, v1alpha1.ConditionReady, metav1.ConditionFalse, reasonRefused, delegated.refused.Error())
		} else {
			condition(t, s, v1alpha1.ConditionReady, metav1.ConditionTrue, reasonGranted, "")
		}
		if len(left) > 0 {
			condition(t, s, v1alpha1.ConditionClean, metav1.ConditionFalse, reasonLeftovers, "status.leftovers lists objects that former sudoers created or changed with sudo")
		} else {
			condition(t, s, v1alpha1.ConditionClean, metav1.ConditionTrue, reasonClean, "")
		}
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

// grant first revokes the permissions that the lists of members no longer grant. Then it grants
// the permissions that are missing, and returns the resulting delegations.
func (r *Tenants) grant(ctx context.Context, t *v1alpha1.LNamespace) (*delegated, error) {
	wanted, unwanted := grants.For(t, r.Options)
	settled := t.Status.ObservedGeneration == t.Generation
	gone, err := r.delegations.revoke(ctx, t.Name, unique(t.Spec.Sudoers), false)
	if err != nil {
		return nil, err
	}
	for i := range gone {
		if settled {
			r.repaired(t, &gone[i], "deleted %s, which the lists do not grant", describe(&gone[i]))
		}
	}
	for _, object := range unwanted {
		gone, err := r.remove(ctx, object, !settled)
		if err != nil {
			return nil, err
		}
		if gone && settled {
			r.repaired(t, object, "deleted %s, which the lists do not grant", describe(object))
		}
	}
	for _, object := range wanted {
		done, err := r.ensure(ctx, object)
		if err != nil {
			return nil, err
		}
		if done != unchanged && settled {
			r.repaired(t, object, "repaired %s, which differed from what the lists grant", describe(object))
		}
	}
	made, err := r.delegations.grant(ctx, t, r.Options)
	if err != nil {
		return nil, err
	}
	for _, object := range made.restored {
		if settled {
			r.repaired(t, object, "repaired %s, which differed from what the lists grant", describe(object))
		}
	}
	return made, nil
}

// revoke deletes all objects that grant permissions to members of the tenant. If sure is true, it
// reads cluster-scoped objects from the server if they are not in the cache. If sureInside is true
// too, it does the same with the bindings in the namespace. sureInside must be false if the
// namespace does not belong to the tenant: then a binding with the same name might belong to
// somebody else.
func (r *Tenants) revoke(ctx context.Context, tenant string, sure, sureInside bool) error {
	if _, err := r.delegations.revoke(ctx, tenant, nil, sure); err != nil {
		return err
	}
	for _, object := range grants.All(tenant) {
		if _, err := r.remove(ctx, object, sure && (object.GetNamespace() == "" || sureInside)); err != nil {
			return err
		}
	}
	return nil
}

// finish revokes all permissions of a tenant that is being deleted, deletes its namespace, and
// removes the finalizer of the LNamespace. The namespace controller of Kubernetes deletes the
// contents of the namespace.
func (r *Tenants) finish(ctx context.Context, t *v1alpha1.LNamespace) error {
	if !controllerutil.ContainsFinalizer(t, names.Finalizer) {
		return nil
	}
	ns, ours, err := r.existing(ctx, t)
	if err != nil {
		return err
	}
	if err := r.revoke(ctx, t.Name, true, ours.reason == "" && ours.uid != ""); err != nil {
		return err
	}
	if err := r.deleteNamespace(ctx, ns, ours); err != nil {
		return err
	}
	return client.IgnoreNotFound(r.finalizer(ctx, t, controllerutil.RemoveFinalizer))
}

// finalizer adds or removes the finalizer of an LNamespace, by a patch of only
// metadata.finalizers. An update could also write default values to the spec, for which the
// controller would need the verbs of the lists.
func (r *Tenants) finalizer(ctx context.Context, t *v1alpha1.LNamespace, change func(client.Object, string) bool) error {
	before := t.DeepCopy()
	if !change(t, names.Finalizer) {
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
		Type: kind, Status: status, Reason: reason, Message: short(message, maxMessage), ObservedGeneration: t.Generation,
	})
}

// unique returns a copy of the list without duplicates. In the copy, an empty kind is set to User.
func unique(list []v1alpha1.Subject) []v1alpha1.Subject {
	var result []v1alpha1.Subject
	for _, s := range list {
		if s.Kind == "" {
			s.Kind = v1alpha1.UserKind
		}
		if !slices.Contains(result, s) {
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
	r.Recorder.Eventf(t, nil, kind, reason, action, format, args...)
}
