// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// selfRoles deletes the roles by which sudoers impersonated themselves in an earlier version. With
// such a role, a user sheds its groups in all namespaces, and what is denied to a group is allowed. A
// reconcile request has the name of a role.
type selfRoles struct{ writer }

// Reconcile deletes a role and its binding.
func (r *selfRoles) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	// The binding is deleted first, because it grants the permissions.
	var failed []error
	for _, object := range []client.Object{
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: req.Name}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: req.Name}},
	} {
		_, err := r.remove(ctx, object, server)
		failed = append(failed, err)
	}
	return reconcile.Result{}, errors.Join(failed...)
}
