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

// ConfirmBind returns an error if an attribute refers to the role, so that binding it needs the
// verb "bind". It is called for a caller who does not hold that verb. The namespace is that of
// the binding. An attribute of a namespace affects bindings in that namespace only; otherwise
// whoever creates an attribute that names "edit" could stop everybody from binding "edit". An
// attribute of the cluster affects ClusterRoleBindings, the only bindings that count for it.
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
