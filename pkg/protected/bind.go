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

// ConfirmBind returns an error if an attribute refers to a role, so that to bind it takes the
// verb "bind" on it. Its caller does not hold that. The namespace is that of the binding:
// attributes of a namespace ask for bindings there alone, else whoever writes one that names
// "edit" would stop everybody from binding "edit". Those of the cluster ask for bindings that
// hold everywhere, which are all they count.
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
