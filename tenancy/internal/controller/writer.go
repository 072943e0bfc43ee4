// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/internal/names"
)

// writer creates, updates and deletes RBAC objects. It reads them from the cache, which has only
// RBAC objects with the controller's label. Where the cache can lack an object, it reads from the
// server.
type writer struct {
	client.Client
	// live reads from the server, and not from the cache.
	live client.Reader
	// unlabelled reads the metadata of the cluster-scoped objects of RBAC without the controller's label,
	// from a second cache.
	unlabelled client.Reader
}

// lookup is where remove looks for an object that the cache does not have, because somebody may have
// removed the controller's label.
type lookup int

const (
	// cacheOnly does not look for it.
	cacheOnly lookup = iota
	// unlabelledCache looks in the cache of objects without the label. It is stale for a moment after the
	// label was removed, and then gets an event.
	unlabelledCache
	// server asks the server.
	server
)

// outcome is the result of ensure.
type outcome int

const (
	unchanged outcome = iota
	created
	repaired
)

// ensure creates or updates the object with the name of want, so that it matches want. It returns
// what it did.
func (w *writer) ensure(ctx context.Context, want client.Object) (outcome, error) {
	key := client.ObjectKeyFromObject(want)
	have := newLike(want)
	err := w.Get(ctx, key, have)
	if apierrors.IsNotFound(err) {
		err = w.Create(ctx, deepCopy(want))
		if err == nil {
			return created, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return unchanged, fmt.Errorf("create %s: %w", describe(want), err)
		}
		// Somebody else removed the controller's label, or the cache is stale.
		err = w.live.Get(ctx, key, have)
	}
	if err != nil {
		return unchanged, fmt.Errorf("get %s: %w", describe(want), err)
	}
	if binding, ok := want.(*rbacv1.ClusterRoleBinding); ok && isForeign(have, binding.RoleRef) {
		return unchanged, fmt.Errorf("%s: its name is the controller's, and somebody else bound another role with it; delete it", describe(want))
	}
	ending := have.GetDeletionTimestamp() != nil
	if !ending && same(have, want) {
		return unchanged, nil
	}
	// The role of a binding can't be changed, and a deletion can't be taken back.
	if ending || !sameRole(have, want) {
		if err := w.delete(ctx, have); err != nil {
			return unchanged, err
		}
		if err := w.Create(ctx, deepCopy(want)); err != nil {
			return unchanged, fmt.Errorf("create %s: %w", describe(want), err)
		}
		return repaired, nil
	}
	next := deepCopy(want)
	next.SetResourceVersion(have.GetResourceVersion())
	next.SetUID(have.GetUID())
	next.SetLabels(merged(have.GetLabels(), want.GetLabels()))
	next.SetAnnotations(merged(have.GetAnnotations(), want.GetAnnotations()))
	next.SetFinalizers(have.GetFinalizers())
	if err := w.Update(ctx, next); err != nil {
		err = fmt.Errorf("update %s: %w", describe(want), err)
		if !apierrors.IsConflict(err) {
			err = errors.Join(err, w.narrow(ctx, have, want))
		}
		return unchanged, err
	}
	return repaired, nil
}

// narrow removes from the binding have the subjects that want does not have. It adds none. All members of a list share
// one binding, so an entry that the server refuses would else keep the rights of those who left.
func (w *writer) narrow(ctx context.Context, have, want client.Object) error {
	next := deepCopy(have)
	subjects, wanted := subjectsOf(next), subjectsOf(want)
	if subjects == nil || wanted == nil || !sameRole(have, want) {
		return nil
	}
	before := len(*subjects)
	*subjects = slices.DeleteFunc(*subjects, func(s rbacv1.Subject) bool { return !slices.Contains(*wanted, s) })
	if len(*subjects) == before {
		return nil
	}
	if err := w.Update(ctx, next); err != nil {
		return fmt.Errorf("remove subjects from %s: %w", describe(have), err)
	}
	return nil
}

// subjectsOf returns the subjects of a binding, or nil if the object is none.
func subjectsOf(object client.Object) *[]rbacv1.Subject {
	switch binding := object.(type) {
	case *rbacv1.ClusterRoleBinding:
		return &binding.Subjects
	case *rbacv1.RoleBinding:
		return &binding.Subjects
	}
	return nil
}

// remove deletes an object, and reports whether it existed. If the cache does not have the object,
// remove looks for it where the lookup says. It spares what isForeign.
func (w *writer) remove(ctx context.Context, object client.Object, where lookup) (bool, error) {
	key := client.ObjectKeyFromObject(object)
	have := newLike(object)
	err := w.Get(ctx, key, have)
	if apierrors.IsNotFound(err) && where == unlabelledCache {
		// The metadata only says that there is such an object.
		if err = w.unlabelled.Get(ctx, key, metadataOf(kindOf(object))); err == nil {
			err = w.live.Get(ctx, key, have)
		}
	} else if apierrors.IsNotFound(err) && where == server {
		err = w.live.Get(ctx, key, have)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get %s: %w", describe(object), err)
	}
	// The bindings of the controller have the name of their role.
	if isForeign(have, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: have.GetName()}) {
		return false, nil
	}
	return true, w.delete(ctx, have)
}

// isForeign reports whether an object with a name of the controller is somebody else's: a ClusterRoleBinding without
// the controller's label, to another role than its own, which is no role of the controller either. Nobody changes the
// role of a binding, so a binding of the controller whose label was removed still has its own. Whoever binds another
// role of a tenant under a name of the controller gives rights in the tenant that nobody takes away again.
func isForeign(have client.Object, role rbacv1.RoleRef) bool {
	binding, ok := have.(*rbacv1.ClusterRoleBinding)
	return ok && binding.Labels[names.ManagedBy] != names.Manager && binding.RoleRef != role &&
		!strings.HasPrefix(binding.RoleRef.Name, names.Prefix)
}

// same reports whether the existing object have matches want. Additional labels and annotations of
// have are ignored.
func same(have, want client.Object) bool {
	if !includes(have.GetLabels(), want.GetLabels()) || !includes(have.GetAnnotations(), want.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(have.GetOwnerReferences(), want.GetOwnerReferences()) || !sameRole(have, want) {
		return false
	}
	if role, ok := want.(*rbacv1.ClusterRole); ok {
		have := have.(*rbacv1.ClusterRole)
		return equality.Semantic.DeepEqual(have.Rules, role.Rules) && have.AggregationRule == nil
	}
	wanted := subjectsOf(want)
	return wanted != nil && equality.Semantic.DeepEqual(*subjectsOf(have), *wanted)
}

func sameRole(have, want client.Object) bool {
	switch want := want.(type) {
	case *rbacv1.ClusterRoleBinding:
		return have.(*rbacv1.ClusterRoleBinding).RoleRef == want.RoleRef
	case *rbacv1.RoleBinding:
		return have.(*rbacv1.RoleBinding).RoleRef == want.RoleRef
	}
	return true
}

func includes(have, want map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}

func merged(have, want map[string]string) map[string]string {
	if len(have) == 0 {
		return want
	}
	all := maps.Clone(have)
	maps.Copy(all, want)
	return all
}

func deepCopy(object client.Object) client.Object { return object.DeepCopyObject().(client.Object) }

// newLike returns an empty object of the same kind.
func newLike(like client.Object) client.Object {
	return reflect.New(reflect.TypeOf(like).Elem()).Interface().(client.Object)
}

// kindOf returns the kind of an object with a type of its own.
func kindOf(object client.Object) string { return reflect.TypeOf(object).Elem().Name() }

func describe(object client.Object) string {
	return kindOf(object) + " " + strings.TrimPrefix(client.ObjectKeyFromObject(object).String(), "/")
}

// tenantOf returns the name of the tenant that an object belongs to, or an empty string if the
// object does not have the controller's label.
func tenantOf(object client.Object) string {
	if object.GetLabels()[names.ManagedBy] != names.Manager {
		return ""
	}
	return object.GetLabels()[names.Tenant]
}
