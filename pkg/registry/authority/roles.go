// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/protect"
)

// The bootstrap cluster roles of protected attributes. The server maintains them and their
// bindings as it maintains upstream's bootstrap roles: permissions that an administrator removes
// are restored at the next start, unless the annotation
// rbac.authorization.kubernetes.io/autoupdate is "false".
const (
	// ViewRole allows reading protected attributes. It is aggregated to "view", and so to "edit"
	// and "admin": a user who may view a namespace also sees which labels and annotations are
	// protected in that namespace.
	ViewRole = "system:kube-granular:protected-attributes-viewer"
	// ManageRole allows reading and writing protected attributes. It is not aggregated to other
	// roles and not bound, so an administrator of a namespace does not hold it unless somebody
	// binds it.
	ManageRole = "system:kube-granular:protected-attributes-manager"
	// ControllersRole allows changing all protected labels and annotations. It is bound to those
	// of upstream's controllers that copy labels and annotations, for instance from a template to
	// the objects that they make from it. The template is checked when a user writes it, so these
	// objects need not be checked again.
	ControllersRole = "system:kube-granular:protected-attributes-controllers"
	// VerbBypass is the verb that ControllersRole allows, on protectedattributes in all
	// namespaces. The authorizer is asked whether a caller holds the verb only if a write would
	// be refused without it.
	VerbBypass = "bypass"
)

// DelegatorRole allows creating and reading AuthorityDelegations, and ending those that the holder
// created. Its holders can delegate the permissions that they hold by other roles, and see all
// delegations, which reveal who is allowed what. The role has no delete, update or patch for the
// delegations themselves: RBAC can't limit such a verb to a holder's own. The server does that for the
// subresource expiration. The role is not aggregated to other roles and not bound.
const DelegatorRole = "system:kube-granular:authority-delegator"

// policy returns the bootstrap roles and bindings for the kinds that the server serves.
func (p *Provider) policy() *rbacrest.PolicyData {
	out := &rbacrest.PolicyData{}
	if p.Attributes {
		out = attributeRoles()
	}
	if p.FieldPermissions != nil {
		more := fieldRoles()
		out.ClusterRoles = append(out.ClusterRoles, more.ClusterRoles...)
		out.ClusterRoleBindings = append(out.ClusterRoleBindings, more.ClusterRoleBindings...)
	}
	if p.Delegations != nil {
		out.ClusterRoles = append(out.ClusterRoles, rbacv1.ClusterRole{
			ObjectMeta: bootstrapMeta(DelegatorRole, map[string]string{}),
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{delegationsPlural},
				Verbs: []string{"create", "get", "list", "watch"}}, {
				APIGroups: []string{v1alpha1.GroupName}, Resources: []string{expirationPath}, Verbs: []string{"get", "patch", "update"},
			}},
		})
	}
	return out
}

func attributeRoles() *rbacrest.PolicyData {
	both := []string{"protectedattributes", "clusterprotectedattributes"}
	// A controller manager uses this user for all controllers, unless it runs with
	// --use-service-account-credentials.
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user.KubeControllerManager}}
	for _, name := range protect.Copiers() {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: name})
	}
	return &rbacrest.PolicyData{
		ClusterRoles: []rbacv1.ClusterRole{
			bootstrapRole(ViewRole, map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}, both, "get", "list", "watch"),
			bootstrapRole(ManageRole, map[string]string{}, both, "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"),
			bootstrapRole(ControllersRole, map[string]string{}, both[:1], VerbBypass),
		},
		ClusterRoleBindings: []rbacv1.ClusterRoleBinding{bootstrapBinding(ControllersRole, subjects...)},
	}
}

// bootstrapMeta returns the metadata of a role or binding that the server keeps up to date, unless an
// administrator sets the annotation rbac.authorization.kubernetes.io/autoupdate to false.
func bootstrapMeta(name string, labels map[string]string) metav1.ObjectMeta {
	labels["kubernetes.io/bootstrapping"] = "rbac-defaults"
	return metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"}}
}

func bootstrapRole(name string, labels map[string]string, resources []string, verbs ...string) rbacv1.ClusterRole {
	return rbacv1.ClusterRole{
		ObjectMeta: bootstrapMeta(name, labels),
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{v1alpha1.GroupName}, Resources: resources, Verbs: verbs}},
	}
}

// bootstrapBinding returns the binding of a role, with the name of the role.
func bootstrapBinding(role string, subjects ...rbacv1.Subject) rbacv1.ClusterRoleBinding {
	return rbacv1.ClusterRoleBinding{
		ObjectMeta: bootstrapMeta(role, map[string]string{}),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   subjects,
	}
}
