// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/names"
)

// grant first revokes the permissions that the lists of members no longer grant. Then it grants
// the permissions that are missing, and returns the resulting delegations. An error with one object
// does not keep it from the others. Objects in the namespace come last, because sudo can write
// there. settled is true if the tenant had all that before, so that a difference is somebody else's. isNew is true if
// the namespace has just been created, so that nothing can be in it.
func (r *Tenants) grant(ctx context.Context, t *v1alpha1.LNamespace, settled, isNew bool) (*delegated, error) {
	wanted, unwanted := grants.For(t, r.Options)
	former, err := r.formerSudoers(ctx, t.Name, wanted)
	if err != nil {
		return nil, err
	}
	unwanted = append(unwanted, former...)
	gone, err := r.delegations.revoke(ctx, t.Name, unique(grants.Acting(t)), false)
	failed := []error{err}
	for i := range gone {
		if settled {
			r.repaired(t, &gone[i], "deleted %s, which the lists do not grant", describe(&gone[i]))
		}
	}
	for _, object := range clusterFirst(unwanted) {
		where := unlabelledCache
		switch {
		case object.GetNamespace() == "":
		case settled || isNew:
			where = cacheOnly
		default:
			where = server
		}
		gone, err := r.remove(ctx, object, where)
		failed = append(failed, err)
		if gone && err == nil && settled {
			r.repaired(t, object, "deleted %s, which the lists do not grant", describe(object))
		}
	}
	for _, object := range clusterFirst(wanted) {
		done, err := r.ensure(ctx, object)
		failed = append(failed, err)
		if done != unchanged && settled {
			r.repaired(t, object, "repaired %s, which differed from what the lists grant", describe(object))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	made, err := r.delegations.grant(ctx, t, r.Options)
	if err != nil {
		return nil, err
	}
	for _, object := range made.restored {
		if settled {
			r.repaired(t, object, "repaired %s, which differed from what the lists grant", describe(object))
		}
	}
	return made, nil
}

// shrink takes the cluster-scoped permissions that the lists do not grant any more, and grants none. It is for a tenant
// of whose namespace nothing is known: that it can't be created or read must not keep the rights of those who left.
func (r *Tenants) shrink(ctx context.Context, t *v1alpha1.LNamespace) error {
	present, err := r.present(ctx, t, time.Now())
	if err != nil {
		return err
	}
	wanted, unwanted := grants.For(present, r.Options)
	former, err := r.formerSudoers(ctx, t.Name, wanted)
	failed := []error{err}
	_, err = r.delegations.revoke(ctx, t.Name, unique(grants.Acting(present)), false)
	failed = append(failed, err)
	for _, object := range append(unwanted, former...) {
		if object.GetNamespace() == "" {
			_, err := r.remove(ctx, object, unlabelledCache)
			failed = append(failed, err)
		}
	}
	for _, object := range wanted {
		have := newLike(object)
		if object.GetNamespace() != "" {
			continue
		}
		if err := r.Get(ctx, client.ObjectKeyFromObject(object), have); err == nil {
			failed = append(failed, r.narrow(ctx, have, object))
		} else if !apierrors.IsNotFound(err) {
			failed = append(failed, fmt.Errorf("get %s: %w", describe(object), err))
		}
	}
	return errors.Join(failed...)
}

// revoke deletes all objects that grant permissions to members of the tenant. If sure is true, it
// reads cluster-scoped objects from the server if they are not in the cache. If sureInside is true
// too, it does the same with the bindings in the namespace. sureInside must be false if the
// namespace does not belong to the tenant: then a binding with the same name might belong to
// somebody else. An error with one object does not keep revoke from the others.
func (r *Tenants) revoke(ctx context.Context, t *v1alpha1.LNamespace, sure, sureInside bool) error {
	_, err := r.delegations.revoke(ctx, t.Name, nil, sure)
	failed := []error{err}
	former, err := r.formerSudoers(ctx, t.Name, nil)
	failed = append(failed, err)
	all := append(grants.All(t.Name, slices.Concat(t.Spec.Sudoers, t.Status.Granted.Sudoers)...), former...)
	for _, object := range clusterFirst(all) {
		where := cacheOnly
		if sure && (object.GetNamespace() == "" || sureInside) {
			where = server
		}
		_, err := r.remove(ctx, object, where)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// sudoerIndex is the name of the cache index of the roles of single sudoers, and of their bindings, by
// tenant.
const sudoerIndex = "tenant-of-sudoer"

// tenantOfSudoerRole returns the tenant that the role of a sudoer, or its binding, belongs to.
func tenantOfSudoerRole(object client.Object) []string {
	tenant := tenantOf(object)
	if tenant == "" || !names.IsSudoerRole(tenant, object.GetName()) {
		return nil
	}
	return []string{tenant}
}

// formerSudoers returns the roles of single sudoers of the tenant, and their bindings, that are not in
// wanted. The status of the LNamespace names former sudoers too, but it is lost with the object.
func (r *Tenants) formerSudoers(ctx context.Context, tenant string, wanted []client.Object) ([]client.Object, error) {
	roles, bindings := &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}
	for _, list := range []client.ObjectList{roles, bindings} {
		if err := r.List(ctx, list, client.MatchingFields{sudoerIndex: tenant}); err != nil {
			return nil, fmt.Errorf("list the roles of sudoers of %s: %w", tenant, err)
		}
	}
	isWanted := func(name string) bool {
		return slices.ContainsFunc(wanted, func(w client.Object) bool { return w.GetNamespace() == "" && w.GetName() == name })
	}
	var former []client.Object
	for i := range bindings.Items {
		if !isWanted(bindings.Items[i].Name) {
			former = append(former, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: bindings.Items[i].Name}})
		}
	}
	for i := range roles.Items {
		if !isWanted(roles.Items[i].Name) {
			former = append(former, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: roles.Items[i].Name}})
		}
	}
	return former, nil
}

// clusterFirst returns the objects with the cluster-scoped ones before those in a namespace. Else
// it keeps the order.
func clusterFirst(objects []client.Object) []client.Object {
	inside := func(object client.Object) int { return min(len(object.GetNamespace()), 1) }
	return slices.SortedStableFunc(slices.Values(objects), func(a, b client.Object) int { return inside(a) - inside(b) })
}

// isConflict reports whether all errors that err joins are conflicts: then the cache is stale, and
// the next attempt is likely to succeed.
func isConflict(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !isConflict(err) })
	}
	return apierrors.IsConflict(err)
}
