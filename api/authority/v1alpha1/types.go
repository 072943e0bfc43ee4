// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ProtectedAttribute protects a label or an annotation of the objects in its namespace: to set,
// change or remove it, a user must hold the role or the verb that the attribute names.
type ProtectedAttribute struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is protected, and who may set it.
	// +required
	// +permission-verb:"specification"
	Spec ProtectedAttributeSpec `json:"spec"`

	// status is the observed state of the attribute. The server writes it.
	// +optional
	// +permission-verb:"status"
	Status ProtectedAttributeStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ProtectedAttributeList is a list of ProtectedAttributes.
type ProtectedAttributeList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the attributes.
	Items []ProtectedAttribute `json:"items"`
}

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterProtectedAttribute protects a label or an annotation of the objects in all namespaces,
// and of cluster-scoped objects: to set, change or remove it, a user must hold the cluster role
// or the verb that the attribute names.
type ClusterProtectedAttribute struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is protected, and who may set it.
	// +required
	// +permission-verb:"specification"
	Spec ProtectedAttributeSpec `json:"spec"`

	// status is the observed state of the attribute. The server writes it.
	// +optional
	// +permission-verb:"status"
	Status ProtectedAttributeStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterProtectedAttributeList is a list of ClusterProtectedAttributes.
type ClusterProtectedAttributeList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the attributes.
	Items []ClusterProtectedAttribute `json:"items"`
}
