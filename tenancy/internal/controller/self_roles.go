// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/names"
)

// selfIndex is the name of the cache index of LNamespaces by their self roles: the roles that let
// their sudoers impersonate themselves.
const selfIndex = "self-impersonator"

// SelfRoles reconciles the self roles: the roles that let sudoers impersonate themselves. Tenants
// with the same sudoer share a role. A reconcile request has the name of a role, and not of a
// tenant. Requests with the same name do not run concurrently. So changes of two tenants that
// share a role can't overwrite each other.
type SelfRoles struct {
	writer
	// Recorder records events.
	Recorder events.EventRecorder
}

// noSelfNames replaces selfNames if sudo works by delegation. Then no LNamespace needs a self
// role, because sudoers do not impersonate.
func noSelfNames(client.Object) []string { return nil }

// selfNames returns the names of the self roles that an LNamespace needs.
func selfNames(object client.Object) []string {
	t, ok := object.(*v1alpha1.LNamespace)
	if !ok || t.DeletionTimestamp != nil {
		return nil
	}
	var roles []string
	for _, user := range names.SelfUsers(t.Spec.Sudoers) {
		roles = append(roles, names.SelfRole(user))
	}
	return roles
}

// Reconcile creates or repairs a self role and its binding if an LNamespace lists the user of the
// role as a sudoer. If no LNamespace does, Reconcile deletes both.
func (r *SelfRoles) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	list := &v1alpha1.LNamespaceList{}
	if err := r.List(ctx, list, client.MatchingFields{selfIndex: req.Name}, client.Limit(1)); err != nil {
		return reconcile.Result{}, err
	}
	if len(list.Items) == 0 {
		// The binding is deleted first, because it grants the permissions.
		var failed []error
		for _, object := range []client.Object{
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: req.Name}},
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: req.Name}},
		} {
			_, err := r.remove(ctx, object, true)
			failed = append(failed, err)
		}
		return reconcile.Result{}, errors.Join(failed...)
	}
	t := &list.Items[0]
	for _, user := range names.SelfUsers(t.Spec.Sudoers) {
		if names.SelfRole(user) != req.Name {
			continue
		}
		for _, object := range grants.Self(user) {
			done, err := r.ensure(ctx, object)
			if err != nil {
				return reconcile.Result{}, err
			}
			if done == repaired {
				repairs.WithLabelValues(kindOf(object)).Inc()
				r.Recorder.Eventf(t, object, corev1.EventTypeWarning, "Repaired", "Repair", "repaired %s, which differed from what the lists grant", describe(object))
			}
		}
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, fmt.Errorf("%s: the index of LNamespaces names %s, which has no such sudoer", req.Name, t.Name)
}
