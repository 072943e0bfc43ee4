// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/granular"
	rbachelpers "k8s.io/kubernetes/pkg/apis/rbac/v1"
)

// Roles leaves the rules of a role out where none of them is about the resource in
// question. RBAC copies the rules of all roles of a caller when it is asked for them.
func (Listers) Roles(all granular.RoleGetter) granular.RoleGetter { return roles{all} }

// ClusterRoles does the same for cluster roles.
func (Listers) ClusterRoles(all granular.ClusterRoleGetter) granular.ClusterRoleGetter {
	return clusterRoles{all}
}

type roles struct{ granular.RoleGetter }

var silentRole = &rbacv1.Role{}

func (g roles) GetRole(ctx context.Context, namespace, name string) (*rbacv1.Role, error) {
	a := asked(ctx)
	if a == nil || namespace != a.about.GetNamespace() {
		return g.RoleGetter.GetRole(ctx, namespace, name)
	}
	if known := a.known(false, name); known.role != nil {
		return known.role, nil
	}
	found, err := g.RoleGetter.GetRole(ctx, namespace, name)
	if err != nil {
		return found, err
	}
	if a.silent(found.Rules) {
		found = silentRole
	}
	a.keep(role{name: name, role: found})
	return found, nil
}

type clusterRoles struct{ granular.ClusterRoleGetter }

var silentClusterRole = &rbacv1.ClusterRole{}

func (g clusterRoles) GetClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	a := asked(ctx)
	if a == nil {
		return g.ClusterRoleGetter.GetClusterRole(ctx, name)
	}
	if known := a.known(true, name); known.clusterRole != nil {
		return known.clusterRole, nil
	}
	found, err := g.ClusterRoleGetter.GetClusterRole(ctx, name)
	if err != nil {
		return found, err
	}
	if a.silent(found.Rules) {
		found = silentClusterRole
	}
	a.keep(role{name: name, clusterRole: found})
	return found, nil
}

// silent says that no rule is about the resource in question.
func (a *asking) silent(rules []rbacv1.PolicyRule) bool {
	resource, subresource := a.about.GetResource(), a.about.GetSubresource()
	if subresource != "" {
		resource += "/" + subresource
	}
	for i := range rules {
		if rbachelpers.APIGroupMatches(&rules[i], a.about.GetAPIGroup()) && rbachelpers.ResourceMatches(&rules[i], resource, subresource) {
			return false
		}
	}
	return true
}
