// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LNamespaceStatus says what the controller made of a tenant.
type LNamespaceStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// namespaceUID is the UID of the namespace that the controller created or that an
	// administrator had adopted. Rights are granted in no other.
	// +optional
	NamespaceUID types.UID `json:"namespaceUID,omitempty"`
	// adopted tells that the namespace was there before; it is not deleted with the tenant.
	// +optional
	Adopted bool `json:"adopted,omitempty"`
	// sudoGroup is the group that sudoers impersonate.
	// +optional
	SudoGroup string `json:"sudoGroup,omitempty"`
	// granted are the people who hold rights now.
	// +optional
	Granted Granted `json:"granted,omitempty"`
	// leftovers are what was made with sudo by people who are sudoers no longer.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Leftovers []Leftover `json:"leftovers,omitempty"`
	// conditions are Ready, NamespaceReady and Clean.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Granted are the people who hold rights.
type Granted struct {
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Users []Subject `json:"users,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Managers []Subject `json:"managers,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Sudoers []Subject `json:"sudoers,omitempty"`
}

// Leftover is an object that was made with sudo and outlived the rights of its maker.
type Leftover struct {
	// kind is that of the object.
	Kind string `json:"kind"`
	// name is that of the object, in the namespace of the tenant.
	Name string `json:"name"`
	// maker is the user who made it.
	Maker string `json:"maker"`
}

// The types of conditions.
const (
	// ConditionReady tells that everybody has the rights that the lists give, and nobody else.
	ConditionReady = "Ready"
	// ConditionNamespaceReady tells that the namespace is there and is the tenant's.
	ConditionNamespaceReady = "NamespaceReady"
	// ConditionClean tells that nothing is left that was made with sudo by people who are
	// sudoers no longer.
	ConditionClean = "Clean"
)
