// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// finish revokes all permissions of a tenant that is being deleted, deletes its namespace or lets it
// go, and removes the finalizer of the LNamespace. The namespace controller of Kubernetes deletes the
// contents of a deleted namespace.
func (r *Tenants) finish(ctx context.Context, t *v1alpha1.LNamespace) error {
	if !controllerutil.ContainsFinalizer(t, names.Finalizer) {
		return nil
	}
	ns, h, err := r.existing(ctx, t)
	if err != nil {
		return err
	}
	present := h.reason == "" && h.uid != ""
	if err := r.revoke(ctx, t, true, present || h.ending); err != nil {
		return err
	}
	if present {
		retained, err := r.isRetained(ctx, t, h)
		if err != nil {
			return err
		}
		if retained {
			err = r.release(ctx, t, ns, h)
		} else {
			err = client.IgnoreNotFound(r.Delete(ctx, ns, client.Preconditions{UID: &ns.UID}))
			h.ending = true
		}
		if err != nil {
			return err
		}
	}
	// Nothing new is created in a namespace that is being deleted, but a finalizer can keep a binding
	// there, and RBAC honours it.
	if h.ending {
		if err := r.deleteBindings(ctx, t.Name, func(rbacv1.RoleBinding) bool { return true }); err != nil {
			return err
		}
	}
	return client.IgnoreNotFound(r.finalizers(ctx, t, controllerutil.RemoveFinalizer, names.Finalizer))
}

// isRetained reports whether the namespace stays when the LNamespace is deleted: an administrator
// handed it over or wants to retain it, or the CustomResourceDefinition of LNamespaces is being
// deleted. The server deletes all LNamespaces then, and nobody decided about the namespaces.
func (r *Tenants) isRetained(ctx context.Context, t *v1alpha1.LNamespace, h tenantNamespace) (bool, error) {
	if h.adopted || t.Spec.DeletionPolicy == v1alpha1.RetainNamespace {
		return true, nil
	}
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	err := r.live.Get(ctx, client.ObjectKey{Name: names.Definition}, definition)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("whether the definition of LNamespaces is being deleted: %w", err)
	}
	return definition.DeletionTimestamp != nil, nil
}

// release lets a namespace go that stays without its tenant. It ends the permissions of people, and
// removes the labels, annotations and owners by which the namespace belonged to the tenant.
func (r *Tenants) release(ctx context.Context, t *v1alpha1.LNamespace, ns *metav1.PartialObjectMetadata, h tenantNamespace) error {
	if err := r.leave(ctx, t); err != nil {
		return err
	}
	if !h.adopted {
		if err := r.deleteBindings(ctx, t.Name, func(b rbacv1.RoleBinding) bool { return isOfTenant(b) && hasPeople(b) }); err != nil {
			return err
		}
	}
	before := ns.DeepCopy()
	delete(ns.Labels, names.Tenant)
	delete(ns.Labels, names.ManagedBy)
	delete(ns.Annotations, names.AdoptedBy)
	delete(ns.Annotations, names.CreatedFor)
	disown(ns)
	if !h.adopted {
		ns.Labels = merged(ns.Labels, map[string]string{names.Retained: "true"})
		r.event(t, corev1.EventTypeNormal, "NamespaceRetained", "DeleteNamespace", "the namespace %s stays, without its tenant", t.Name)
	}
	// The lock keeps a list of owners that somebody else changed meanwhile.
	return client.IgnoreNotFound(r.Patch(ctx, ns, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// leave handles what sudoers leave in a namespace that stays when its tenant is deleted: nobody is a
// sudoer there any more. It removes what sudoers created, or records an event.
func (r *Tenants) leave(ctx context.Context, t *v1alpha1.LNamespace) error {
	left, err := r.examine(ctx, t, nil, true)
	if err != nil || len(left) == 0 {
		return err
	}
	r.event(t, corev1.EventTypeWarning, "Leftovers", "Revoke",
		"the namespace %s keeps what its members created or changed, %d entries: the objects have the label %s or %s, or not %s",
		t.Name, len(left), names.MadeWithSudo, names.ChangedWithSudo, names.MadeFromOutside)
	return nil
}

// deleteBindings deletes the RoleBindings in a namespace for which the function unwanted is true. They
// give no permissions afterwards, whatever finalizers they have.
func (r *Tenants) deleteBindings(ctx context.Context, namespace string, unwanted func(rbacv1.RoleBinding) bool) error {
	list := &rbacv1.RoleBindingList{}
	if err := r.live.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the bindings in %s: %w", namespace, err)
	}
	var failed []error
	for i := range list.Items {
		if unwanted(list.Items[i]) {
			failed = append(failed, r.delete(ctx, &list.Items[i]))
		}
	}
	return errors.Join(failed...)
}

// isOfTenant reports whether somebody of the tenant made or changed the binding, or whether nobody
// knows who made it.
func isOfTenant(b rbacv1.RoleBinding) bool {
	return b.Labels[names.MadeFromOutside] != "true" || b.Labels[names.ChangedWithSudo] == "true"
}

// hasPeople reports whether the binding has a subject that is no service account of its namespace.
// Programs in a namespace that stays keep their permissions.
func hasPeople(b rbacv1.RoleBinding) bool {
	return slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool {
		own := s.Kind == rbacv1.ServiceAccountKind && (s.Namespace == b.Namespace || s.Namespace == "") ||
			s.Kind == rbacv1.GroupKind && s.Name == "system:serviceaccounts:"+b.Namespace
		return !own
	})
}
