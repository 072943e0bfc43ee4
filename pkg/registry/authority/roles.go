// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"

	"kube-granular.dev/api/authority/v1alpha1"
)

// The cluster roles that the server keeps, as it keeps upstream's: what an administrator
// takes away comes back with the next start, unless the annotation
// rbac.authorization.kubernetes.io/autoupdate is "false".
const (
	// ViewRole is part of the role "view", and so of "edit" and "admin": who may see a
	// namespace sees what is protected in it.
	ViewRole = "system:kube-granular:protected-attributes-viewer"
	// ManageRole is part of no role and bound to nobody. An administrator of a namespace
	// does not hold it, unless somebody who does binds it.
	ManageRole = "system:kube-granular:protected-attributes-manager"
)

func policy() *rbacrest.PolicyData {
	role := func(name string, labels map[string]string, verbs ...string) rbacv1.ClusterRole {
		labels["kubernetes.io/bootstrapping"] = "rbac-defaults"
		return rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: labels,
				Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"},
			},
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{v1alpha1.GroupName},
				Resources: []string{"protectedattributes", "clusterprotectedattributes"},
				Verbs:     verbs,
			}},
		}
	}
	return &rbacrest.PolicyData{ClusterRoles: []rbacv1.ClusterRole{
		role(ViewRole, map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}, "get", "list", "watch"),
		role(ManageRole, map[string]string{}, "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"),
	}}
}
