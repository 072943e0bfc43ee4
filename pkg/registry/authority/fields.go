// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/apis/authority"
)

// FieldPermissions configures the storage of FieldPermissions.
type FieldPermissions struct {
	// Prepare completes a FieldPermission whose specification is about to be stored, or returns an
	// error that refuses it. stored is nil if the object is created. It may be called several times
	// for one request.
	Prepare func(ctx context.Context, written, stored *v1alpha1.FieldPermission) error
	// Changed is called once for each request that has changed specifications or removed objects. It
	// may warn the caller. A dry run has changed nothing, but is told in the same way.
	Changed func(ctx context.Context, changes []FieldChange, dryRun bool)
	// Observe is called with every FieldPermission that this server stored or removed, before the
	// server answers the request. gone is true if the object was removed.
	Observe func(p *v1alpha1.FieldPermission, gone bool)
}

const fieldsPlural = "fieldpermissions"

func newFieldPermissions(options generic.RESTOptionsGetter, f *FieldPermissions) (fieldREST, statusREST, error) {
	k := kind{
		fieldsPlural, "fieldpermission", "fperm", validation.Cluster,
		func() runtime.Object { return &authority.FieldPermission{} },
		func() runtime.Object { return &authority.FieldPermissionList{} },
	}
	s := fieldStrategy{k.strategy()}
	prepare := func(ctx context.Context, written, stored *v1alpha1.FieldPermission) (genericregistry.FinishFunc, error) {
		return func(context.Context, bool) {}, f.Prepare(ctx, written, stored)
	}
	store := k.store(s, fieldTable)
	store.BeginCreate = func(ctx context.Context, obj runtime.Object, _ *metav1.CreateOptions) (genericregistry.FinishFunc, error) {
		return prepare(ctx, fieldPermission(obj), nil)
	}
	store.BeginUpdate = func(ctx context.Context, obj, old runtime.Object, _ *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
		written, stored := fieldPermission(obj), fieldPermission(old)
		if equality.Semantic.DeepEqual(written.Spec, stored.Spec) {
			return func(context.Context, bool) {}, nil
		}
		return prepare(ctx, written, stored)
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: jsonOptions{options}}); err != nil {
		return fieldREST{}, statusREST{}, err
	}
	notify(store, func(changed *authority.FieldPermission, gone bool) {
		f.Observe((*v1alpha1.FieldPermission)(changed), gone)
	})
	status := *store
	status.UpdateStrategy, status.ResetFieldsStrategy = fieldStatusStrategy{s}, fieldStatusStrategy{s}
	status.BeginUpdate = nil
	return fieldREST{resourceREST{store, k.short}, f.Changed}, statusREST{&status}, nil
}

// fieldPermission returns the versioned form of an object of the internal version, nil for nil. It is
// the object itself, not a copy.
func fieldPermission(obj runtime.Object) *v1alpha1.FieldPermission {
	if obj == nil {
		return nil
	}
	return (*v1alpha1.FieldPermission)(obj.(*authority.FieldPermission))
}
