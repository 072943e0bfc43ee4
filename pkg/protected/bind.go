// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/protect"
)

// ConfirmBind decides about a caller who writes a binding to a role without holding the verb "bind"
// on that role. It returns an error if a protected attribute refers to the role, because then the
// caller needs that verb. namespace is the namespace of the binding.
//
// An attribute in a namespace affects only the bindings in that namespace. Otherwise anyone who is
// allowed to create an attribute could refer to the role "edit" in it, and so stop everybody from
// binding "edit". A cluster-wide attribute affects only ClusterRoleBindings, because only they make
// a user a holder of its role.
func (p *Protection) ConfirmBind(ctx context.Context, binding schema.GroupResource, name, namespace string, role rbacv1.RoleRef) error {
	set, known := p.Set()
	if !known {
		if err := p.Wait(ctx); err != nil {
			return err
		}
		set, _ = p.Set()
	}
	if !set.RefersTo(namespace, protect.RoleRef{Kind: role.Kind, Name: role.Name}) {
		return nil
	}
	where := "in the cluster"
	if namespace != "" {
		where = fmt.Sprintf("in namespace %q", namespace)
	}
	return apierrors.NewForbidden(binding, name, fmt.Errorf(
		"needs the verb \"bind\" on %s %q %s, because a protected attribute refers to it; holding all that the role allows is not enough",
		role.Kind, role.Name, where))
}
