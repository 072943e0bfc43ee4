// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

const (
	// FieldViewRole allows reading FieldPermissions. It is aggregated to "view", and so to "edit" and
	// "admin": who writes objects also sees which fields need more than update.
	FieldViewRole = "system:kube-granular:field-permissions-viewer"
	// FieldManageRole allows reading and writing FieldPermissions. It is not aggregated to other roles
	// and not bound, because whoever deletes a FieldPermission opens its fields.
	FieldManageRole = "system:kube-granular:field-permissions-manager"
	// FieldControllersRole allows changing all fields that FieldPermissions exclude. It is bound to
	// upstream's controllers and to the scheduler, which write such fields for others.
	FieldControllersRole = "system:kube-granular:field-permissions-controllers"
	// FieldNodesRole allows changing all fields that the FieldPermission "pods" excludes. It is bound to
	// the nodes, because kubelets create mirror pods of static pods. The admission plugin NodeRestriction
	// lets nodes create no other pods.
	FieldNodesRole = "system:kube-granular:field-permissions-nodes"
)

// fieldRoles returns the roles for FieldPermissions. The verb bypass is asked with the name of the
// FieldPermission that would refuse a write.
func fieldRoles() *rbacrest.PolicyData {
	all := []string{fieldsPlural}
	nodes := bootstrapRole(FieldNodesRole, map[string]string{}, all, VerbBypass)
	nodes.Rules[0].ResourceNames = []string{"pods"}
	return &rbacrest.PolicyData{
		ClusterRoles: []rbacv1.ClusterRole{
			bootstrapRole(FieldViewRole, map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}, all, "get", "list", "watch"),
			bootstrapRole(FieldManageRole, map[string]string{}, all,
				"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"),
			bootstrapRole(FieldControllersRole, map[string]string{}, all, VerbBypass),
			nodes,
		},
		ClusterRoleBindings: []rbacv1.ClusterRoleBinding{
			bootstrapBinding(FieldControllersRole, controllers()...),
			bootstrapBinding(FieldNodesRole, rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: user.NodesGroup}),
		},
	}
}

// controllerPrefix begins the names of upstream's bindings for its controllers.
const controllerPrefix = "system:controller:"

// controllers returns the subjects of all of upstream's controllers and of the scheduler. A controller
// manager uses one user for all controllers, unless it runs with --use-service-account-credentials. Some
// controllers, such as the signer of cluster-info, have roles in single namespaces and none in the cluster.
func controllers() []rbacv1.Subject {
	var out []rbacv1.Subject
	for _, name := range []string{user.KubeControllerManager, user.KubeScheduler} {
		out = append(out, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name})
	}
	for _, binding := range bootstrappolicy.ControllerRoleBindings() {
		out = append(out, binding.Subjects...)
	}
	bindings := bootstrappolicy.NamespaceRoleBindings()
	for _, namespace := range slices.Sorted(maps.Keys(bindings)) {
		for _, binding := range bindings[namespace] {
			for _, subject := range binding.Subjects {
				if strings.HasPrefix(binding.Name, controllerPrefix) && !slices.Contains(out, subject) {
					out = append(out, subject)
				}
			}
		}
	}
	return out
}
