// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/client-go/tools/cache"
)

// Listers makes the listers and getters that RBAC reads from. They return only what one
// authorization check needs, if the check has a context from For. Listers implements
// granular.Bindings, the interface by which the patched RBAC gets them.
type Listers struct{}

var _ granular.Bindings = Listers{}

// Role returns a lister of role bindings. If the lister is called with a context from For, it finds
// the bindings of the caller with an index of the informer. With any other context it calls all,
// which lists all bindings.
func (Listers) Role(informer cache.SharedIndexInformer, all granular.RoleBindingLister) granular.RoleBindingLister {
	l := &roleBindings{RoleBindingLister: all}
	l.index.init(informer, func(object any) (string, []rbacv1.Subject) {
		if binding, ok := object.(*rbacv1.RoleBinding); ok {
			return binding.Namespace, binding.Subjects
		}
		return "", nil
	})
	return l
}

// ClusterRole returns a lister of cluster role bindings. If the lister is called with a context
// from For, it finds the bindings of the caller with an index of the informer. With any other
// context it calls all, which lists all bindings.
func (Listers) ClusterRole(informer cache.SharedIndexInformer, all granular.ClusterRoleBindingLister) granular.ClusterRoleBindingLister {
	l := &clusterRoleBindings{ClusterRoleBindingLister: all}
	l.index.init(informer, func(object any) (string, []rbacv1.Subject) {
		if binding, ok := object.(*rbacv1.ClusterRoleBinding); ok {
			return "", binding.Subjects
		}
		return "", nil
	})
	return l
}

type roleBindings struct {
	granular.RoleBindingLister
	index index
}

func (l *roleBindings) ListRoleBindings(ctx context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	if q := queryFrom(ctx); q != nil && namespace != "" && namespace == q.request.GetNamespace() {
		if list, ok := bindingsFor(&l.index, q, namespace, q.cachedBindings()); ok {
			return list, nil
		}
	}
	return l.RoleBindingLister.ListRoleBindings(ctx, namespace)
}

type clusterRoleBindings struct {
	granular.ClusterRoleBindingLister
	index index
}

func (l *clusterRoleBindings) ListClusterRoleBindings(ctx context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	if q := queryFrom(ctx); q != nil {
		if list, ok := bindingsFor(&l.index, q, "", q.cachedClusterBindings()); ok {
			return list, nil
		}
	}
	return l.ClusterRoleBindingLister.ListClusterRoleBindings(ctx)
}
