// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
)

// ReadBindings reads what Bindings needs for the Roles of a namespace, or for ClusterRoles if the namespace is "". Who manages
// the roles of one namespace can often read no others.
func ReadBindings(ctx context.Context, client rbacclient.RbacV1Interface, namespace string) (*RBAC, error) {
	if namespace != "" {
		return read(ctx, client, namespace, "rolebindings")
	}
	return read(ctx, client, "", "clusterroles", "clusterrolebindings", "rolebindings")
}

// Bound is a binding with its subjects. Namespace is where they hold the role, or "" for the whole cluster.
type Bound struct {
	Binding   string
	Namespace string
	Subjects  []rbacv1.Subject
}

// Bindings returns the bindings of a role, and those of ClusterRoles that get its rules by aggregation. The role need not exist: a
// binding can be older than its role.
func (r *RBAC) Bindings(kind, namespace, name string) []Bound {
	keys := []roleKey{{kind, namespace, name}}
	for more := r.aggregating(keys); len(more) > 0; more = r.aggregating(keys) {
		keys = append(keys, more...)
	}
	var out []Bound
	for _, b := range r.bindings {
		if slices.Contains(keys, b.role) {
			out = append(out, Bound{b.String(), b.namespace, b.subjects})
		}
	}
	return out
}

// aggregating returns the further ClusterRoles that get the rules of some roles.
func (r *RBAC) aggregating(roles []roleKey) (out []roleKey) {
	for name, selectors := range r.aggregations {
		selected := func(role roleKey) bool {
			return role.kind == "ClusterRole" && slices.ContainsFunc(selectors, func(selector metav1.LabelSelector) bool {
				parsed, err := metav1.LabelSelectorAsSelector(&selector)
				return err == nil && parsed.Matches(r.labels[role.name])
			})
		}
		if key := (roleKey{"ClusterRole", "", name}); !slices.Contains(roles, key) && slices.ContainsFunc(roles, selected) {
			out = append(out, key)
		}
	}
	return out
}
