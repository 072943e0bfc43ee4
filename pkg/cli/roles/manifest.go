// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roles

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/pkg/cli/manifest"
)

// Decode returns the role or binding of a file, or nil if the object is something else. A Role or RoleBinding
// without a namespace gets the given one.
func Decode(found *manifest.Object, namespace string) (runtime.Object, error) {
	if found.APIVersion != rbacv1.SchemeGroupVersion.String() {
		return nil, nil
	}
	var object runtime.Object
	var own *string
	switch found.Kind {
	case "Role":
		role := &rbacv1.Role{}
		object, own = role, &role.Namespace
	case "ClusterRole":
		object = &rbacv1.ClusterRole{}
	case "RoleBinding":
		binding := &rbacv1.RoleBinding{}
		object, own = binding, &binding.Namespace
	case "ClusterRoleBinding":
		object = &rbacv1.ClusterRoleBinding{}
	default:
		return nil, nil
	}
	if err := found.Decode(object); err != nil {
		return nil, err
	}
	if own != nil && *own == "" {
		*own = namespace
	}
	return object, nil
}
