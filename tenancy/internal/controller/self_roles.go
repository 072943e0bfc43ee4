// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kube-granular.dev/tenancy/internal/names"
)

// selfRoles deletes the roles by which sudoers impersonated themselves in an earlier version. With
// such a role, a user sheds its groups in all namespaces, and what is denied to a group is allowed. A
// reconcile request has the name of a role.
type selfRoles struct{ writer }

// Reconcile deletes a role and its binding. Each must carry the labels itself: somebody who may create ClusterRoles
// can give a role the labels, and the name of a binding of somebody else.
func (r *selfRoles) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	// The binding is deleted first, because it grants the permissions.
	var failed []error
	for _, have := range []client.Object{&rbacv1.ClusterRoleBinding{}, &rbacv1.ClusterRole{}} {
		err := r.Get(ctx, req.NamespacedName, have)
		if err == nil && have.GetLabels()[names.ManagedBy] == names.Manager && have.GetLabels()[names.SelfImpersonator] != "" {
			err = r.delete(ctx, have)
		}
		failed = append(failed, client.IgnoreNotFound(err))
	}
	return reconcile.Result{}, errors.Join(failed...)
}
