// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"

	"kube-granular.dev/api/authority/v1alpha1"
)

// The cluster roles that the server keeps, and binds, as it keeps upstream's: what an
// administrator takes away comes back with the next start, unless the annotation
// rbac.authorization.kubernetes.io/autoupdate is "false".
const (
	// ViewRole is part of the role "view", and so of "edit" and "admin": who may see a
	// namespace sees what is protected in it.
	ViewRole = "system:kube-granular:protected-attributes-viewer"
	// ManageRole is part of no role and bound to nobody. An administrator of a namespace
	// does not hold it, unless somebody who does binds it.
	ManageRole = "system:kube-granular:protected-attributes-manager"
	// ControllersRole admits its subjects to whatever is protected. It is bound to those of
	// upstream's controllers that copy the labels and annotations of others: templates
	// are judged when they are written, and what comes out of them is not judged again.
	ControllersRole = "system:kube-granular:protected-attributes-controllers"
	// VerbBypass is what it holds, on protectedattributes in all namespaces. It is asked
	// where a write would be refused otherwise.
	VerbBypass = "bypass"
)

// copyingControllers are the controllers that write labels or annotations which somebody else chose.
// docs/protected-attributes.md says of each what it copies, and why others are not here.
var copyingControllers = []string{
	"cronjob-controller",
	"daemon-set-controller",
	"deployment-controller",
	"endpoint-controller",
	"endpointslice-controller",
	"endpointslicemirroring-controller",
	"ephemeral-volume-controller",
	"job-controller",
	"replicaset-controller",
	"replication-controller",
	"resource-claim-controller",
	"statefulset-controller",
}

// DelegatorRole is part of no role and bound to nobody. Who holds it may delegate what else
// it holds, and see all delegations: they tell who may do what.
const DelegatorRole = "system:kube-granular:authority-delegator"

// policy returns the roles of the kinds that are served.
func (p Provider) policy() *rbacrest.PolicyData {
	out := &rbacrest.PolicyData{}
	if p.Attributes {
		out = attributeRoles()
	}
	if p.Delegations != nil {
		out.ClusterRoles = append(out.ClusterRoles, rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{
				Name: DelegatorRole, Labels: map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
				Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"},
			},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{delegationsPlural}, Verbs: []string{"create", "get", "list", "watch"}}},
		})
	}
	return out
}

func attributeRoles() *rbacrest.PolicyData {
	meta := func(name string, labels map[string]string) metav1.ObjectMeta {
		labels["kubernetes.io/bootstrapping"] = "rbac-defaults"
		return metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"}}
	}
	role := func(name string, labels map[string]string, resources []string, verbs ...string) rbacv1.ClusterRole {
		return rbacv1.ClusterRole{
			ObjectMeta: meta(name, labels),
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{v1alpha1.GroupName}, Resources: resources, Verbs: verbs}},
		}
	}
	both := []string{"protectedattributes", "clusterprotectedattributes"}
	// A controller manager runs its controllers under this name, unless it is told to use an
	// account for each.
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user.KubeControllerManager}}
	for _, name := range copyingControllers {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: name})
	}
	return &rbacrest.PolicyData{
		ClusterRoles: []rbacv1.ClusterRole{
			role(ViewRole, map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}, both, "get", "list", "watch"),
			role(ManageRole, map[string]string{}, both, "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"),
			role(ControllersRole, map[string]string{}, both[:1], VerbBypass),
		},
		ClusterRoleBindings: []rbacv1.ClusterRoleBinding{{
			ObjectMeta: meta(ControllersRole, map[string]string{}),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ControllersRole},
			Subjects:   subjects,
		}},
	}
}
