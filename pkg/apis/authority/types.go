// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/api/authority/v1alpha1"
)

// Attribute is a ProtectedAttribute or a ClusterProtectedAttribute.
type Attribute interface {
	runtime.Object
	metav1.Object

	// Parts returns pointers to the metadata, specification and status of the attribute itself,
	// not to copies.
	Parts() (*metav1.ObjectMeta, *v1alpha1.ProtectedAttributeSpec, *v1alpha1.ProtectedAttributeStatus)
}

var (
	_ Attribute = &ProtectedAttribute{}
	_ Attribute = &ClusterProtectedAttribute{}
)

// ProtectedAttribute is the internal version of v1alpha1.ProtectedAttribute.
type ProtectedAttribute v1alpha1.ProtectedAttribute

// Parts implements Attribute.
func (in *ProtectedAttribute) Parts() (*metav1.ObjectMeta, *v1alpha1.ProtectedAttributeSpec, *v1alpha1.ProtectedAttributeStatus) {
	return &in.ObjectMeta, &in.Spec, &in.Status
}

// DeepCopyObject implements runtime.Object.
func (in *ProtectedAttribute) DeepCopyObject() runtime.Object {
	return (*ProtectedAttribute)((*v1alpha1.ProtectedAttribute)(in).DeepCopy())
}

// ClusterProtectedAttribute is the internal version of v1alpha1.ClusterProtectedAttribute.
type ClusterProtectedAttribute v1alpha1.ClusterProtectedAttribute

// Parts implements Attribute.
func (in *ClusterProtectedAttribute) Parts() (*metav1.ObjectMeta, *v1alpha1.ProtectedAttributeSpec, *v1alpha1.ProtectedAttributeStatus) {
	return &in.ObjectMeta, &in.Spec, &in.Status
}

// DeepCopyObject implements runtime.Object.
func (in *ClusterProtectedAttribute) DeepCopyObject() runtime.Object {
	return (*ClusterProtectedAttribute)((*v1alpha1.ClusterProtectedAttribute)(in).DeepCopy())
}

// ProtectedAttributeList is a list of ProtectedAttributes.
type ProtectedAttributeList list[ProtectedAttribute]

// DeepCopyObject implements runtime.Object.
func (in *ProtectedAttributeList) DeepCopyObject() runtime.Object {
	return (*ProtectedAttributeList)(copied((*list[ProtectedAttribute])(in)))
}

// ClusterProtectedAttributeList is a list of ClusterProtectedAttributes.
type ClusterProtectedAttributeList list[ClusterProtectedAttribute]

// DeepCopyObject implements runtime.Object.
func (in *ClusterProtectedAttributeList) DeepCopyObject() runtime.Object {
	return (*ClusterProtectedAttributeList)(copied((*list[ClusterProtectedAttribute])(in)))
}

// AuthorityDelegation is the internal version of v1alpha1.AuthorityDelegation.
type AuthorityDelegation v1alpha1.AuthorityDelegation

// DeepCopyObject implements runtime.Object.
func (in *AuthorityDelegation) DeepCopyObject() runtime.Object {
	return (*AuthorityDelegation)((*v1alpha1.AuthorityDelegation)(in).DeepCopy())
}

// AuthorityDelegationList is a list of AuthorityDelegations.
type AuthorityDelegationList list[AuthorityDelegation]

// DeepCopyObject implements runtime.Object.
func (in *AuthorityDelegationList) DeepCopyObject() runtime.Object {
	return (*AuthorityDelegationList)(copied((*list[AuthorityDelegation])(in)))
}

// AuthorityDelegationPolicy is the internal version of v1alpha1.AuthorityDelegationPolicy.
type AuthorityDelegationPolicy v1alpha1.AuthorityDelegationPolicy

// DeepCopyObject implements runtime.Object.
func (in *AuthorityDelegationPolicy) DeepCopyObject() runtime.Object {
	return (*AuthorityDelegationPolicy)((*v1alpha1.AuthorityDelegationPolicy)(in).DeepCopy())
}

// AuthorityDelegationPolicyList is a list of AuthorityDelegationPolicies.
type AuthorityDelegationPolicyList list[AuthorityDelegationPolicy]

// DeepCopyObject implements runtime.Object.
func (in *AuthorityDelegationPolicyList) DeepCopyObject() runtime.Object {
	return (*AuthorityDelegationPolicyList)(copied((*list[AuthorityDelegationPolicy])(in)))
}

// FieldPermission is the internal version of v1alpha1.FieldPermission.
type FieldPermission v1alpha1.FieldPermission

// DeepCopyObject implements runtime.Object.
func (in *FieldPermission) DeepCopyObject() runtime.Object {
	return (*FieldPermission)((*v1alpha1.FieldPermission)(in).DeepCopy())
}

// FieldPermissionList is a list of FieldPermissions.
type FieldPermissionList list[FieldPermission]

// DeepCopyObject implements runtime.Object.
func (in *FieldPermissionList) DeepCopyObject() runtime.Object {
	return (*FieldPermissionList)(copied((*list[FieldPermission])(in)))
}

// list has the fields of a list of any kind in either version.
type list[T any] struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []T
}

// copied returns a deep copy of a list.
func copied[T any, P interface {
	*T
	runtime.Object
}](source *list[T]) *list[T] {
	out := &list[T]{TypeMeta: source.TypeMeta, ListMeta: *source.ListMeta.DeepCopy()}
	if source.Items != nil {
		out.Items = make([]T, len(source.Items))
	}
	for i := range source.Items {
		out.Items[i] = *P(&source.Items[i]).DeepCopyObject().(P)
	}
	return out
}
