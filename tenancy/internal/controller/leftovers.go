// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// maxLeftovers is the maximum length of status.leftovers.
const maxLeftovers = 64

// maxMaker is the maximum length in bytes of the maker in an entry of status.leftovers. The maker is
// read from an annotation, which who creates an object without sudo may set to any text. A status
// with many long texts would be too large to be stored.
const maxMaker = 256

// leftoverKinds are the kinds of objects by which a former sudoer can keep permissions of sudo.
var leftoverKinds = []schema.GroupVersionKind{
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
}

// leftovers returns the objects that former sudoers created or changed with sudo. It finds them by
// labels that admission policies set. If spec.sudo.atRevocation is Remove, leftovers deletes the
// created objects and returns only the changed objects. To save requests, it lists objects only if
// a sudoer was removed or the status still has leftovers.
func (r *Tenants) leftovers(ctx context.Context, t *v1alpha1.LNamespace) ([]v1alpha1.Leftover, error) {
	now := unique(t.Spec.Sudoers)
	left := slices.ContainsFunc(t.Status.Granted.Sudoers, func(s v1alpha1.Subject) bool { return !slices.Contains(now, s) })
	if !left && len(t.Status.Leftovers) == 0 {
		return nil, nil
	}
	var found []v1alpha1.Leftover
	for _, gvk := range leftoverKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := r.live.List(ctx, list, client.InNamespace(t.Name), client.MatchingLabels{names.MadeWithSudo: "true"}); err != nil {
			return nil, fmt.Errorf("list objects that were created with sudo: %w", err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			maker := object.Annotations[names.Maker]
			if object.DeletionTimestamp != nil || sudoer(t.Name, now, maker) {
				continue
			}
			if t.Spec.Sudo.AtRevocation == v1alpha1.RemoveLeftovers {
				object.SetGroupVersionKind(gvk)
				if err := r.Delete(ctx, object, client.Preconditions{UID: &object.UID}); client.IgnoreNotFound(err) != nil {
					return nil, fmt.Errorf("delete the %s %s, which was created with sudo: %w", gvk.Kind, object.Name, err)
				}
				r.event(t, corev1.EventTypeNormal, "RemovedLeftover", "Revoke", "deleted the %s %s, which %q created with sudo", gvk.Kind, object.Name, maker)
				continue
			}
			found = append(found, v1alpha1.Leftover{Kind: gvk.Kind, Name: object.Name, Maker: short(maker, maxMaker)})
		}
	}
	changed, err := r.changedWithSudo(ctx, t, now)
	if err != nil {
		return nil, err
	}
	found = append(found, changed...)
	slices.SortFunc(found, func(a, b v1alpha1.Leftover) int {
		return strings.Compare(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name)
	})
	return found[:min(len(found), maxLeftovers)], nil
}

// changedWithSudo returns the Roles and RoleBindings that were created without sudo, and that
// former sudoers changed with sudo. The controller never deletes these objects.
func (r *Tenants) changedWithSudo(ctx context.Context, t *v1alpha1.LNamespace, now []v1alpha1.Subject) ([]v1alpha1.Leftover, error) {
	var found []v1alpha1.Leftover
	for _, kind := range []string{"Role", "RoleBinding"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := r.live.List(ctx, list, client.InNamespace(t.Name), client.MatchingLabels{names.ChangedWithSudo: "true"}); err != nil {
			return nil, fmt.Errorf("list objects that were changed with sudo: %w", err)
		}
		for _, object := range list.Items {
			for maker := range strings.SplitSeq(object.Annotations[names.Changers], "\n") {
				if object.DeletionTimestamp == nil && object.Labels[names.MadeWithSudo] == "" && !sudoer(t.Name, now, maker) {
					found = append(found, v1alpha1.Leftover{Kind: kind, Name: object.Name, Maker: short(maker, maxMaker)})
				}
			}
		}
	}
	return found, nil
}

// short returns the text, cut to at most limit bytes if it is longer.
func short(text string, limit int) string {
	const dots = "…"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(dots)], "") + dots
}

// sudoer reports whether the user maker, who created or changed an object with sudo, is still one
// of the sudoers, which are in now. The user that names.SudoUser returns counts as a sudoer as
// long as a group or a service account is in now, because their requests can have this user name.
func sudoer(tenant string, now []v1alpha1.Subject, maker string) bool {
	return slices.ContainsFunc(now, func(s v1alpha1.Subject) bool {
		if s.Kind == v1alpha1.UserKind {
			return s.Name == maker
		}
		return maker == names.SudoUser(tenant) || s.Kind == v1alpha1.ServiceAccountKind && maker == names.Username(s)
	})
}
