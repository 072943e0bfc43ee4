// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"context"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/selected"
)

// byRole is the name of the index in an informer that finds bindings by their role.
const byRole = "kube-granular.dev/role"

// roleKey returns the key of a role in the index byRole. Namespaces, kinds and role names contain
// no slash, so different roles have different keys.
func roleKey(namespace, kind, name string) string { return namespace + "/" + kind + "/" + name }

// Roles finds out who holds a role. It reads roles and bindings from informers, even if RBAC is
// not a configured authorizer.
type Roles struct {
	roles           rbaclisters.RoleLister
	clusterRoles    rbaclisters.ClusterRoleLister
	bindings        cache.Indexer
	clusterBindings cache.Indexer
	synced          []cache.InformerSynced
}

// addRoleIndex adds the index byRole to an informer that does not have it yet.
func addRoleIndex(informer cache.SharedIndexInformer, key func(obj any) (string, bool)) error {
	if _, ok := informer.GetIndexer().GetIndexers()[byRole]; ok {
		return nil
	}
	return informer.AddIndexers(cache.Indexers{byRole: func(obj any) ([]string, error) {
		if key, ok := key(obj); ok {
			return []string{key}, nil
		}
		return nil, nil
	}})
}

// NewRoles returns Roles that read from informers, which must not have started.
func NewRoles(informers rbacinformers.Interface) (*Roles, error) {
	r := &Roles{
		roles:           informers.Roles().Lister(),
		clusterRoles:    informers.ClusterRoles().Lister(),
		bindings:        informers.RoleBindings().Informer().GetIndexer(),
		clusterBindings: informers.ClusterRoleBindings().Informer().GetIndexer(),
		synced: []cache.InformerSynced{
			informers.Roles().Informer().HasSynced, informers.ClusterRoles().Informer().HasSynced,
			informers.RoleBindings().Informer().HasSynced, informers.ClusterRoleBindings().Informer().HasSynced,
		},
	}
	err := errors.Join(
		addRoleIndex(informers.RoleBindings().Informer(), func(obj any) (string, bool) {
			b, ok := obj.(*rbacv1.RoleBinding)
			if !ok {
				return "", false
			}
			return roleKey(b.Namespace, b.RoleRef.Kind, b.RoleRef.Name), true
		}),
		addRoleIndex(informers.ClusterRoleBindings().Informer(), func(obj any) (string, bool) {
			b, ok := obj.(*rbacv1.ClusterRoleBinding)
			if !ok {
				return "", false
			}
			return roleKey("", b.RoleRef.Kind, b.RoleRef.Name), true
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("index bindings by role: %w", err)
	}
	return r, nil
}

// Holds reports whether a user is bound to the role that an attribute refers to. For a cluster-wide
// attribute the role is a ClusterRole, and only ClusterRoleBindings count. For an attribute in a
// namespace, RoleBindings in that namespace count too. Nobody holds a role that does not exist. It
// does not matter which rules the role has. A user who selected another role, or a delegation, with
// the header Authority-Selector does not hold this role.
func (r *Roles) Holds(ctx context.Context, u user.Info, ref protect.Reference) (bool, error) {
	if u == nil {
		return false, fmt.Errorf("can't find out who holds %s: the request has no user", ref)
	}
	namespace := ""
	if ref.Kind == protect.Role {
		namespace = ref.Namespace
	}
	u, ask, err := selected.MemberUser(u, ref.Kind, namespace, ref.Name)
	if err != nil {
		return false, fmt.Errorf("can't find out who holds %s: %w", ref, err)
	}
	if !ask {
		return false, nil
	}
	q := &membershipResolver{Roles: r, ref: ref}
	held, failed := false, error(nil)
	validation.NewDefaultRuleResolver(q, q, q, q).VisitRulesFor(ctx, u, ref.Namespace,
		func(_ fmt.Stringer, _ *rbacv1.PolicyRule, err error) bool {
			if err != nil && !apierrors.IsNotFound(err) {
				failed = err
				return true
			}
			held = err == nil
			return !held
		})
	if held || failed == nil {
		return held, nil
	}
	return false, fmt.Errorf("can't find out who holds %s: %w", ref, failed)
}

// membershipResolver lets upstream's rule resolver find out whether a user is bound to one role. It
// passes only the bindings of that role to the resolver, and one rule in place of the rules of the
// role. If the resolver returns that rule for a user, a binding includes the user.
type membershipResolver struct {
	*Roles
	ref protect.Reference
}

// anyRule stands in for the rules of the role.
var anyRule = []rbacv1.PolicyRule{{}}

// ListRoleBindings implements validation.RoleBindingLister.
func (q *membershipResolver) ListRoleBindings(_ context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	return bindingsByKey[*rbacv1.RoleBinding](q.bindings, roleKey(namespace, q.ref.Kind, q.ref.Name))
}

// ListClusterRoleBindings implements validation.ClusterRoleBindingLister.
func (q *membershipResolver) ListClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	if q.ref.Kind != protect.ClusterRole {
		return nil, nil
	}
	return bindingsByKey[*rbacv1.ClusterRoleBinding](q.clusterBindings, roleKey("", q.ref.Kind, q.ref.Name))
}

// GetRole implements validation.RoleGetter.
func (q *membershipResolver) GetRole(_ context.Context, namespace, name string) (*rbacv1.Role, error) {
	if _, err := q.roles.Roles(namespace).Get(name); err != nil {
		return nil, err
	}
	return &rbacv1.Role{Rules: anyRule}, nil
}

// GetClusterRole implements validation.ClusterRoleGetter.
func (q *membershipResolver) GetClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	if _, err := q.clusterRoles.Get(name); err != nil {
		return nil, err
	}
	return &rbacv1.ClusterRole{Rules: anyRule}, nil
}

// bindingsByKey returns the bindings that the index byRole has under a key.
func bindingsByKey[T any](indexer cache.Indexer, key string) ([]T, error) {
	found, err := indexer.ByIndex(byRole, key)
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(found))
	for _, obj := range found {
		if b, ok := obj.(T); ok {
			out = append(out, b)
		}
	}
	return out, nil
}

// Role returns the UID of the role that an attribute refers to, and whether that role exists.
func (r *Roles) Role(ref protect.Reference) (types.UID, bool) {
	if ref.Kind == protect.ClusterRole {
		role, err := r.clusterRoles.Get(ref.Name)
		if err != nil {
			return "", false
		}
		return role.UID, true
	}
	role, err := r.roles.Roles(ref.Namespace).Get(ref.Name)
	if err != nil {
		return "", false
	}
	return role.UID, true
}

// Bindings returns the bindings by which users hold the role that an attribute refers to, as Holds
// counts them, in no particular order. The caller must not modify them.
func (r *Roles) Bindings(ref protect.Reference) ([]*rbacv1.RoleBinding, []*rbacv1.ClusterRoleBinding, error) {
	q := &membershipResolver{Roles: r, ref: ref}
	everywhere, err := q.ListClusterRoleBindings(context.Background())
	if err != nil || ref.Namespace == "" {
		return nil, everywhere, err
	}
	here, err := q.ListRoleBindings(context.Background(), ref.Namespace)
	return here, everywhere, err
}
