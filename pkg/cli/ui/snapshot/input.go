// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/protected"
	"kube-granular.dev/pkg/cli/ui/model"
)

// Input is what was collected, from a cluster or from files.
type Input struct {
	// About lacks the indexes of subjects, which Make sets.
	About model.About
	// Kinds are the kinds that a server publishes.
	Kinds []*kinds.Kind
	// Builtin adds the kinds of Kubernetes from the registry, for input without a server.
	Builtin bool
	// Definitions are definitions of custom resources, for input without a server.
	Definitions []*apiextensionsv1.CustomResourceDefinition

	Namespaces          []string
	ClusterRoles        []*rbacv1.ClusterRole
	Roles               []*rbacv1.Role
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
	RoleBindings        []*rbacv1.RoleBinding
	// Delegations are those that are in force.
	Delegations []*v1alpha1.AuthorityDelegation
	Attributes  []protected.Attribute
	Tenants     []model.Tenant
	// Unknown is what could not be read.
	Unknown []model.Unknown
}
