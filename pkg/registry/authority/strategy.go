// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/apis/authority"
)

// strategy implements the strategies of protected attributes.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	scope validation.Scope
}

func (s strategy) NamespaceScoped() bool { return s.scope == validation.Namespaced }

// GetResetFields returns the fields that the main endpoint does not write: the status.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields("status")
}

func resetFields(name string) map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): fieldpath.NewSet(fieldpath.MakePathOrDie(name)),
	}
}

// PrepareForCreate clears the status, except the UID of the namespace. The hook setNamespaceUID
// has already replaced the UID that the client sent.
func (strategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	meta, _, status := obj.(authority.Attribute).Parts()
	meta.Generation = 1
	*status = v1alpha1.ProtectedAttributeStatus{NamespaceUID: status.NamespaceUID, LastChange: lastChange(ctx, 1)}
}

// PrepareForUpdate keeps the stored status. If the specification changes, it also increments the
// generation, and sets status.lastChange to the user, the time and that generation.
func (strategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	meta, spec, status := obj.(authority.Attribute).Parts()
	oldMeta, oldSpec, oldStatus := old.(authority.Attribute).Parts()
	*status = *oldStatus.DeepCopy()
	meta.Generation = oldMeta.Generation
	if !equality.Semantic.DeepEqual(spec, oldSpec) {
		meta.Generation++
		status.LastChange = lastChange(ctx, meta.Generation)
	}
}

func lastChange(ctx context.Context, generation int64) *v1alpha1.LastChange {
	change := &v1alpha1.LastChange{Time: metav1.Now(), Generation: generation}
	if user, ok := genericapirequest.UserFrom(ctx); ok {
		change.User = user.GetName()
	}
	return change
}

func (s strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	meta, spec, _ := obj.(authority.Attribute).Parts()
	return validation.Attribute(meta, spec, s.scope)
}

func (s strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	meta, spec, _ := obj.(authority.Attribute).Parts()
	oldMeta, oldSpec, _ := old.(authority.Attribute).Parts()
	return validation.AttributeUpdate(meta, oldMeta, spec, oldSpec, s.scope)
}

func (strategy) WarningsOnCreate(context.Context, runtime.Object) []string {
	return nil
}

func (strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (strategy) Canonicalize(runtime.Object) {}

func (strategy) AllowCreateOnUpdate(context.Context) bool { return false }

func (strategy) AllowUnconditionalUpdate(context.Context) bool { return true }

// statusStrategy implements the strategy of the status endpoint of protected attributes.
type statusStrategy struct{ strategy }

func (statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields("spec")
}

// PrepareForUpdate takes only the status from the client. It keeps the stored metadata and
// specification, and those parts of the status that the server owns.
func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	meta, spec, status := obj.(authority.Attribute).Parts()
	oldMeta, oldSpec, oldStatus := old.(authority.Attribute).Parts()
	*spec = *oldSpec.DeepCopy()
	meta.Generation = oldMeta.Generation
	// As in upstream's newer kinds, writing a status can't change metadata.
	metav1.ResetObjectMetaForStatus(meta, oldMeta)
	status.NamespaceUID = oldStatus.NamespaceUID
	status.LastChange = oldStatus.LastChange.DeepCopy()
}

func (statusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	meta, _, status := obj.(authority.Attribute).Parts()
	oldMeta, _, _ := old.(authority.Attribute).Parts()
	return validation.StatusUpdate(meta, oldMeta, status)
}
