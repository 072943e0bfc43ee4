// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/client-go/kubernetes"
)

// storage reads roles and bindings for RBAC from the API server's storage, because a cache can
// still contain a binding that was just deleted.
type storage struct{ client kubernetes.Interface }

// rbacReaders returns storage in the form that RBAC's rule resolver takes.
func (l storage) rbacReaders() seam.Policy {
	return seam.Policy{RoleGetter: l, RoleBindingLister: l, ClusterRoleGetter: l, ClusterRoleBindingLister: l}
}

func (l storage) GetRole(ctx context.Context, namespace, name string) (*rbacv1.Role, error) {
	return l.client.RbacV1().Roles(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (l storage) GetClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	return l.client.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
}

func (l storage) ListRoleBindings(ctx context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	list, err := l.client.RbacV1().RoleBindings(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}

func (l storage) ListClusterRoleBindings(ctx context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	list, err := l.client.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}

func pointers[T any](all []T) []*T {
	out := make([]*T, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	return out
}
