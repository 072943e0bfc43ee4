// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/client-go/tools/cache"
	rbachelpers "k8s.io/kubernetes/pkg/apis/rbac/v1"
)

// Roles returns a getter of roles. If the getter is called with a context from For, and a role has
// no rule for the resource of the request, it returns an empty role instead. This saves time,
// because RBAC copies the rules of every role that it gets.
func (Listers) Roles(informer cache.SharedIndexInformer, all granular.RoleGetter) granular.RoleGetter {
	g := &roles{RoleGetter: all}
	g.watched.init(informer, noKeys)
	return g
}

// ClusterRoles does for cluster roles what Roles does for roles.
func (Listers) ClusterRoles(informer cache.SharedIndexInformer, all granular.ClusterRoleGetter) granular.ClusterRoleGetter {
	g := &clusterRoles{ClusterRoleGetter: all}
	g.watched.init(informer, noKeys)
	return g
}

// noKeys returns no index keys. The index of roles serves only to count their changes.
func noKeys(any) []string { return nil }

type roles struct {
	granular.RoleGetter
	watched watchedInformer
}

var emptyRole = &rbacv1.Role{}

func (g *roles) GetRole(ctx context.Context, namespace, name string) (*rbacv1.Role, error) {
	q := queryFrom(ctx)
	if q == nil || q.allRules || namespace != q.request.GetNamespace() {
		return g.RoleGetter.GetRole(ctx, namespace, name)
	}
	kept := q.cachedRoles()
	if known, ok := kept.get(&g.watched, namespace, name); ok {
		return known, nil
	}
	count, keeps := kept.changesToRecord(&g.watched)
	found, err := g.RoleGetter.GetRole(ctx, namespace, name)
	if err != nil {
		return found, err
	}
	if q.irrelevant(found.Rules) {
		found = emptyRole
	}
	if keeps {
		kept.add(count, name, found)
	}
	return found, nil
}

type clusterRoles struct {
	granular.ClusterRoleGetter
	watched watchedInformer
}

var emptyClusterRole = &rbacv1.ClusterRole{}

func (g *clusterRoles) GetClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	q := queryFrom(ctx)
	if q == nil || q.allRules {
		return g.ClusterRoleGetter.GetClusterRole(ctx, name)
	}
	kept := q.cachedClusterRoles()
	if known, ok := kept.get(&g.watched, "", name); ok {
		return known, nil
	}
	count, keeps := kept.changesToRecord(&g.watched)
	found, err := g.ClusterRoleGetter.GetClusterRole(ctx, name)
	if err != nil {
		return found, err
	}
	if q.irrelevant(found.Rules) {
		found = emptyClusterRole
	}
	if keeps {
		kept.add(count, name, found)
	}
	return found, nil
}

// irrelevant reports whether no rule is for the resource of the request.
func (q *Query) irrelevant(rules []rbacv1.PolicyRule) bool {
	resource, subresource := q.request.GetResource(), q.request.GetSubresource()
	if subresource != "" {
		resource += "/" + subresource
	}
	for i := range rules {
		if rbachelpers.APIGroupMatches(&rules[i], q.request.GetAPIGroup()) && rbachelpers.ResourceMatches(&rules[i], resource, subresource) {
			return false
		}
	}
	return true
}
