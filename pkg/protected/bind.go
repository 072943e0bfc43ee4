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

// ConfirmBind returns an error if a protected attribute refers to the role of a binding that a
// caller writes. Then the caller needs the verb "bind" on that role; ConfirmBind is only called
// for callers that lack this verb. namespace is the namespace of the binding. An attribute in a
// namespace affects only the bindings there; otherwise anyone who may create such an attribute
// could name the role "edit" in it, and so stop everybody from binding "edit". A cluster-wide
// attribute affects ClusterRoleBindings, because for such an attribute no other bindings count.
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
