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
	// sudoGroup is the group whose rights sudo is: sudoers impersonate it, or have its rights
	// delegated.
	// +optional
	SudoGroup string `json:"sudoGroup,omitempty"`
	// granted are the people who hold rights now.
	// +optional
	Granted Granted `json:"granted,omitempty"`
	// delegations are those of sudo, one for each sudoer, where sudo is not impersonation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Delegations []SudoDelegation `json:"delegations,omitempty"`
	// leftovers are what was made with sudo, and the roles and bindings of others that were changed with
	// it, by people who are sudoers no longer.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Leftovers []Leftover `json:"leftovers,omitempty"`
	// billing is what has yet to be billed.
	// +optional
	Billing *BillingStatus `json:"billing,omitempty"`
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

// SudoDelegation is an AuthorityDelegation of sudo.
type SudoDelegation struct {
	// subject is the sudoer.
	Subject Subject `json:"subject"`
	// delegation is the name of the AuthorityDelegation.
	Delegation string `json:"delegation"`
	// uid is its UID.
	UID types.UID `json:"uid"`
}

// Leftover is an object that was made with sudo and outlived the rights of its maker.
type Leftover struct {
	// kind is that of the object.
	Kind string `json:"kind"`
	// name is that of the object, in the namespace of the tenant.
	Name string `json:"name"`
	// maker is the user who made or changed it.
	Maker string `json:"maker"`
}

// BillingStatus is the outbox of the bill: what it holds is written to the table again until
// the table has it, and only then leaves.
type BillingStatus struct {
	// open is the period that goes on.
	// +optional
	Open *BillingPeriod `json:"open,omitempty"`
	// openStored tells that the table has the beginning of the open period.
	// +optional
	OpenStored bool `json:"openStored,omitempty"`
	// pending are periods that ended and that the table may not have, in their order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Pending []BillingPeriod `json:"pending,omitempty"`
}

// BillingPeriod is a time for which one account pays.
type BillingPeriod struct {
	// sequence counts the periods of the tenant from one.
	Sequence int64 `json:"sequence"`
	// account and labels are those of the specification at the time.
	// +optional
	Account string `json:"account,omitempty"`
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// start is when the period began: when the one before ended, or the tenant was made.
	Start metav1.Time `json:"start"`
	// end is when it ended; it is not before the start, whatever the clock does.
	// +optional
	End *metav1.Time `json:"end,omitempty"`
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
