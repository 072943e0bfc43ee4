// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/apis/authority"
)

// fieldStrategy implements the strategies of FieldPermissions.
type fieldStrategy struct{ strategy }

// PrepareForCreate implements rest.RESTCreateStrategy.
func (fieldStrategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	p := fieldPermission(obj)
	p.Generation = 1
	p.Status = v1alpha1.FieldPermissionStatus{LastChange: lastChange(ctx, 1)}
}

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (fieldStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	p, stored := fieldPermission(obj), fieldPermission(old)
	p.Status = *stored.Status.DeepCopy()
	p.Generation = stored.Generation
	if !equality.Semantic.DeepEqual(p.Spec, stored.Spec) {
		p.Generation++
		p.Status.LastChange = lastChange(ctx, p.Generation)
	}
}

// Validate implements rest.RESTCreateStrategy.
func (fieldStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.FieldPermission(fieldPermission(obj))
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (fieldStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.FieldPermissionUpdate(fieldPermission(obj), fieldPermission(old))
}

// fieldStatusStrategy is the strategy of the subresource status.
type fieldStatusStrategy struct{ fieldStrategy }

// GetResetFields implements rest.ResetFieldsStrategy.
func (fieldStatusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields("spec")
}

// PrepareForUpdate implements rest.RESTUpdateStrategy. Only the status can change.
func (fieldStatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	p, stored := fieldPermission(obj), fieldPermission(old)
	p.Spec = *stored.Spec.DeepCopy()
	p.Generation = stored.Generation
	metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &stored.ObjectMeta)
	p.Status.LastChange = stored.Status.LastChange.DeepCopy()
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (fieldStatusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.FieldPermissionStatusUpdate(fieldPermission(obj), fieldPermission(old))
}

// fieldTable has the columns of FieldPermissions for kubectl get.
var fieldTable = table{
	columns: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: "The resource whose fields have permissions."},
		{Name: "Version", Type: "string", Description: "The version of the resource for which the paths are written."},
		{Name: "Mode", Type: "string", Description: "Whether excluded entries refuse requests, or only warn and count."},
		{Name: "Fields", Type: "integer", Description: "The number of entries."},
		{Name: "Excluded", Type: "integer", Description: "The number of entries that update and patch do not include."},
		{Name: "Accepted", Type: "string", Description: "Whether all entries are in force as they are written."},
		{Name: "Age", Type: "string", Description: "The time since the object was created."},
		{Name: "Paths", Type: "string", Priority: 1, Description: "The paths of the fields."},
		{Name: "Not held", Type: "integer", Priority: 1,
			Description: "The number of subjects that no excluded entry stops, because a role allows them all verbs."},
		{Name: "Violations", Type: "integer", Priority: 1,
			Description: "The number of requests that the mode Audit allowed and Enforce would refuse."},
	},
	cells: func(obj runtime.Object) ([]any, error) {
		p, ok := obj.(*authority.FieldPermission)
		if !ok {
			return nil, fmt.Errorf("%T is not a FieldPermission", obj)
		}
		accepted, excluded := "Unknown", int64(0)
		for _, c := range p.Status.Conditions {
			if c.Type == v1alpha1.ConditionAccepted {
				accepted = string(c.Status)
			}
		}
		var paths []string
		for _, entry := range p.Spec.Fields {
			paths = append(paths, entry.Path)
			if entry.Excluded {
				excluded++
			}
		}
		return []any{
			p.Name, p.Spec.Version, string(p.Spec.Mode), int64(len(p.Spec.Fields)), excluded, accepted,
			metatable.ConvertToHumanReadableDateType(p.CreationTimestamp),
			firstThree(paths), p.Status.NotHeldCount, p.Status.AuditViolations,
		}, nil
	},
}
