// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/api/authority/v1alpha1"
)

// FieldPermission is the internal version of v1alpha1.FieldPermission.
type FieldPermission v1alpha1.FieldPermission

// DeepCopyObject implements runtime.Object.
func (in *FieldPermission) DeepCopyObject() runtime.Object {
	return (*FieldPermission)((*v1alpha1.FieldPermission)(in).DeepCopy())
}

// FieldPermissionList is a list of FieldPermissions.
type FieldPermissionList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []FieldPermission
}

// DeepCopyObject implements runtime.Object.
func (in *FieldPermissionList) DeepCopyObject() runtime.Object {
	out := &FieldPermissionList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy()}
	if in.Items != nil {
		out.Items = make([]FieldPermission, len(in.Items))
	}
	for i := range in.Items {
		(*v1alpha1.FieldPermission)(&in.Items[i]).DeepCopyInto((*v1alpha1.FieldPermission)(&out.Items[i]))
	}
	return out
}
