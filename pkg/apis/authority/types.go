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
type ProtectedAttributeList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []ProtectedAttribute
}

// DeepCopyObject implements runtime.Object.
func (in *ProtectedAttributeList) DeepCopyObject() runtime.Object {
	out := &ProtectedAttributeList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy()}
	if in.Items != nil {
		out.Items = make([]ProtectedAttribute, len(in.Items))
	}
	for i := range in.Items {
		(*v1alpha1.ProtectedAttribute)(&in.Items[i]).DeepCopyInto((*v1alpha1.ProtectedAttribute)(&out.Items[i]))
	}
	return out
}

// ClusterProtectedAttributeList is a list of ClusterProtectedAttributes.
type ClusterProtectedAttributeList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []ClusterProtectedAttribute
}

// DeepCopyObject implements runtime.Object.
func (in *ClusterProtectedAttributeList) DeepCopyObject() runtime.Object {
	out := &ClusterProtectedAttributeList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy()}
	if in.Items != nil {
		out.Items = make([]ClusterProtectedAttribute, len(in.Items))
	}
	for i := range in.Items {
		(*v1alpha1.ClusterProtectedAttribute)(&in.Items[i]).DeepCopyInto((*v1alpha1.ClusterProtectedAttribute)(&out.Items[i]))
	}
	return out
}
