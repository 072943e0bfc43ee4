// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// Reasons of conditions.
const (
	reasonGranted     = "Granted"
	reasonFailed      = "GrantsFailed"
	reasonRefused     = "DelegationRefused"
	reasonThere       = "Exists"
	reasonReserved    = "ReservedName"
	reasonNotOurs     = "NamespaceNotOurs"
	reasonTerminating = "NamespaceTerminating"
	reasonLeftovers   = "MadeWithSudo"
	reasonClean       = "NothingFound"
	// reasonCleanBefore is the reason of a version that did not record the author of each object.
	reasonCleanBefore   = "NothingLeft"
	reasonUnknownAuthor = "UnknownAuthor"
)

// tenantNamespace describes which namespace belongs to a tenant, or why the tenant has none. adopted is
// true if an administrator handed over the namespace.
type tenantNamespace struct {
	uid     types.UID
	adopted bool
	// isNew is true if the controller has just created the namespace. Nobody else has written there.
	isNew bool
	// unrecorded is true if only an annotation says that the namespace was created for this LNamespace.
	unrecorded bool
	// ending is true if the namespace belongs to the tenant and is being deleted. Then reason is set.
	ending bool
	// again is true if the reason can end without a change of the LNamespace or the namespace.
	again bool
	// reason and message explain why no permissions may be granted in the namespace. reason is
	// empty if permissions may be granted.
	reason, message string
}

// namespace returns the namespace of the tenant, or the reason why permissions may not be granted
// in it. It creates the namespace if the namespace does not exist.
func (r *Tenants) namespace(ctx context.Context, t *v1alpha1.LNamespace) (tenantNamespace, error) {
	if r.Names.IsReserved(t.Name) {
		return tenantNamespace{reason: reasonReserved,
			message: fmt.Sprintf("the name %q is reserved: a namespace with this name can't belong to a tenant", t.Name)}, nil
	}
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := r.Get(ctx, client.ObjectKey{Name: t.Name}, ns)
	if apierrors.IsNotFound(err) {
		if refused, err := r.refused(ctx, r.live, t); err != nil {
			return tenantNamespace{}, err
		} else if refused != nil {
			return tenantNamespace{reason: refused.reason, message: refused.message, again: true}, nil
		}
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name:        t.Name,
			Labels:      map[string]string{names.ManagedBy: names.Manager, names.Tenant: t.Name},
			Annotations: map[string]string{names.CreatedFor: string(t.UID)},
			// There is no owner: the garbage collector would delete the namespace if the LNamespace
			// goes without the controller, for example together with the definition.
		}}
		err = r.Create(ctx, made)
		if err == nil {
			return tenantNamespace{uid: made.UID, isNew: true}, nil
		}
		if apierrors.IsAlreadyExists(err) { // the cache is stale
			err = r.live.Get(ctx, client.ObjectKey{Name: t.Name}, ns)
		}
	}
	if err != nil {
		return tenantNamespace{}, fmt.Errorf("namespace %s: %w", t.Name, err)
	}
	h := ownership(t, ns)
	if h.reason == "" && h.unrecorded {
		// Whoever may create namespaces could have made it, if the admission policies were not there.
		if refused, err := r.refused(ctx, r.live, t); err != nil {
			return tenantNamespace{}, err
		} else if refused != nil {
			return tenantNamespace{reason: refused.reason, message: refused.message, again: true}, nil
		}
	}
	// The admission policies use the label. An earlier version made the LNamespace an owner.
	if h.reason == "" && (tenantOf(ns) != t.Name || ns.Labels[names.Retained] != "" || isOwned(ns)) {
		before := ns.DeepCopy()
		ns.Labels = merged(ns.Labels, map[string]string{names.ManagedBy: names.Manager, names.Tenant: t.Name})
		delete(ns.Labels, names.Retained)
		disown(ns)
		if err := r.Patch(ctx, ns, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return tenantNamespace{}, fmt.Errorf("label namespace %s: %w", t.Name, err)
		}
	}
	return h, nil
}

// isOurs reports whether the owner of an object is of the API group of LNamespaces.
func isOurs(owner metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	return group == v1alpha1.GroupVersion.Group
}

// isOwned reports whether an LNamespace is an owner of the namespace.
func isOwned(ns *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(ns.OwnerReferences, isOurs)
}

// disown removes all LNamespaces from the owners of the namespace.
func disown(ns *metav1.PartialObjectMetadata) {
	ns.OwnerReferences = slices.DeleteFunc(ns.OwnerReferences, isOurs)
}

// ownership returns whether an existing namespace belongs to the tenant. The result has a reason
// if it does not, or if the namespace is being deleted. It belongs to the tenant in three cases:
//
//   - The status of the LNamespace has the UID of the namespace.
//   - An annotation says that the namespace was created for this LNamespace, and the namespace is
//     not older than the LNamespace. This happens if the controller stopped before it wrote the
//     UID of the namespace to the status.
//   - An annotation by an administrator hands over the namespace to this LNamespace.
//
// An admission policy lets only those write these annotations who may write the status of the LNamespace.
func ownership(t *v1alpha1.LNamespace, ns *metav1.PartialObjectMetadata) tenantNamespace {
	h := tenantNamespace{uid: ns.UID}
	recorded := t.Status.NamespaceUID == ns.UID && ns.UID != ""
	made := ns.Annotations[names.CreatedFor] == string(t.UID) && !ns.CreationTimestamp.Before(&t.CreationTimestamp)
	adopted := ns.Annotations[names.AdoptedBy] == string(t.UID)
	switch {
	case ns.DeletionTimestamp != nil:
		h.ending = recorded || made || adopted
		h.reason, h.message = reasonTerminating, fmt.Sprintf("the namespace %q is being deleted", ns.Name)
	case recorded:
		h.adopted = t.Status.Adopted
	case adopted:
		h.adopted = true
	case made:
		h.unrecorded = true
	default:
		h.reason = reasonNotOurs
		h.message = fmt.Sprintf("the namespace %q was not created for this LNamespace; an administrator can hand it over by the annotation %s=%s", ns.Name, names.AdoptedBy, t.UID)
	}
	return h
}

// existing reads the namespace of the tenant from the server. It returns the namespace, and
// whether the namespace belongs to the tenant. If the namespace does not exist, both results are
// empty.
func (r *Tenants) existing(ctx context.Context, t *v1alpha1.LNamespace) (*metav1.PartialObjectMetadata, tenantNamespace, error) {
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if r.Names.IsReserved(t.Name) {
		return ns, tenantNamespace{reason: reasonReserved}, nil
	}
	err := r.live.Get(ctx, client.ObjectKey{Name: t.Name}, ns)
	if apierrors.IsNotFound(err) {
		return ns, tenantNamespace{}, nil
	}
	if err != nil {
		return nil, tenantNamespace{}, err
	}
	return ns, ownership(t, ns), nil
}
