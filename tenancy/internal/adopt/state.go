// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/config"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/names"
)

// state is what the cluster has of the namespaces of the wishes.
type state struct {
	namespaces map[string]*metav1.PartialObjectMetadata
	tenants    map[string]*v1alpha1.LNamespace
	// bindings are the RoleBindings by namespace.
	bindings map[string][]rbacv1.RoleBinding
	// roles are the rules of all Roles, by NAMESPACE/NAME, and of ClusterRoles by /NAME.
	roles map[string][]rbacv1.PolicyRule
	// everybody are the rules that every authenticated caller has in all namespaces by the manifests of
	// this project.
	everybody []rbacv1.PolicyRule
}

// load reads the cluster, in pages.
func load(ctx context.Context, api client.Reader, wishes []Wish) (*state, error) {
	s := &state{
		namespaces: map[string]*metav1.PartialObjectMetadata{}, tenants: map[string]*v1alpha1.LNamespace{},
		bindings: map[string][]rbacv1.RoleBinding{}, roles: map[string][]rbacv1.PolicyRule{},
	}
	wished := map[string]bool{}
	for _, w := range wishes {
		wished[w.Name] = true
	}
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	var everybody []rbacv1.RoleRef
	for _, part := range []struct {
		what string
		list client.ObjectList
		add  func(runtime.Object)
	}{
		{"namespaces", namespaces, func(o runtime.Object) {
			if ns, ok := o.(*metav1.PartialObjectMetadata); ok && wished[ns.Name] {
				s.namespaces[ns.Name] = ns.DeepCopy()
			}
		}},
		{"LNamespaces", &v1alpha1.LNamespaceList{}, func(o runtime.Object) {
			if t, ok := o.(*v1alpha1.LNamespace); ok && wished[t.Name] {
				s.tenants[t.Name] = t.DeepCopy()
			}
		}},
		{"RoleBindings", &rbacv1.RoleBindingList{}, func(o runtime.Object) {
			if b, ok := o.(*rbacv1.RoleBinding); ok && wished[b.Namespace] {
				s.bindings[b.Namespace] = append(s.bindings[b.Namespace], *b.DeepCopy())
			}
		}},
		{"Roles", &rbacv1.RoleList{}, func(o runtime.Object) {
			if r, ok := o.(*rbacv1.Role); ok && wished[r.Namespace] {
				s.roles[r.Namespace+"/"+r.Name] = r.Rules
			}
		}},
		{"ClusterRoles", &rbacv1.ClusterRoleList{}, func(o runtime.Object) {
			if r, ok := o.(*rbacv1.ClusterRole); ok {
				s.roles["/"+r.Name] = r.Rules
			}
		}},
		{"ClusterRoleBindings", &rbacv1.ClusterRoleBindingList{}, func(o runtime.Object) {
			if b, ok := o.(*rbacv1.ClusterRoleBinding); ok && b.Name == config.ViewBinding && b.DeletionTimestamp == nil {
				for _, subject := range b.Subjects {
					if subject.Kind == rbacv1.GroupKind && subject.Name == config.Everybody {
						everybody = append(everybody, b.RoleRef)
					}
				}
			}
		}},
	} {
		if err := each(ctx, api, part.list, part.add); err != nil {
			return nil, fmt.Errorf("list %s: %w", part.what, err)
		}
	}
	for _, ref := range everybody {
		s.everybody = append(s.everybody, s.roles["/"+ref.Name]...)
	}
	return s, nil
}

// each calls add for each object of a list, which it reads in pages.
func each(ctx context.Context, api client.Reader, list client.ObjectList, add func(runtime.Object)) error {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		page := list.DeepCopyObject().(client.ObjectList)
		return page, api.List(ctx, page, client.Limit(o.Limit), client.Continue(o.Continue))
	})
	return pages.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error { add(o); return nil })
}

// rules returns the rules of the role of a binding, and whether the role exists.
func (s *state) rules(b *rbacv1.RoleBinding) ([]rbacv1.PolicyRule, bool) {
	key := b.Namespace + "/" + b.RoleRef.Name
	if b.RoleRef.Kind == "ClusterRole" {
		key = "/" + b.RoleRef.Name
	}
	rules, found := s.roles[key]
	return rules, found
}

// hasOwnName reports whether the binding has the name of a RoleBinding that the controller can make.
func hasOwnName(b *rbacv1.RoleBinding) bool {
	return slices.ContainsFunc(grants.All(b.Namespace), func(object client.Object) bool {
		_, ok := object.(*rbacv1.RoleBinding)
		return ok && object.GetName() == b.Name
	})
}

// isOwn reports whether the controller made the binding for the tenant t.
func isOwn(b *rbacv1.RoleBinding, t *v1alpha1.LNamespace) bool {
	if t == nil || b.Labels[names.ManagedBy] != names.Manager || b.Labels[names.Tenant] != b.Namespace {
		return false
	}
	owner := metav1.GetControllerOf(b)
	return owner != nil && owner.UID == t.UID
}
