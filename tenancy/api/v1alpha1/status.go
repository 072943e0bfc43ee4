// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LNamespaceStatus reports what the controller did for a tenant.
type LNamespaceStatus struct {
	// observedGeneration is the metadata.generation that the controller last reconciled.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// namespaceUID is the UID of the namespace that the controller created, or that an
	// administrator handed over by an annotation. Permissions are granted only in this namespace.
	// +optional
	NamespaceUID types.UID `json:"namespaceUID,omitempty"`
	// adopted is true if an administrator handed over an existing namespace. The controller does
	// not delete such a namespace when the LNamespace is deleted.
	// +optional
	Adopted bool `json:"adopted,omitempty"`
	// sudoGroup is the group with the permissions of sudo. Sudoers impersonate the group, or its
	// permissions are delegated to them.
	// +optional
	SudoGroup string `json:"sudoGroup,omitempty"`
	// granted lists the members that have permissions now.
	// +optional
	Granted Granted `json:"granted,omitempty"`
	// sudo lists who has sudo by a request now, if sudoers have sudo only by a request.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Sudo []GrantedSudo `json:"sudo,omitempty"`
	// delegations lists the AuthorityDelegations of sudo, one for each sudoer. The list is empty if
	// sudoers use sudo by impersonation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Delegations []SudoDelegation `json:"delegations,omitempty"`
	// revokedAt is the time at which the controller last saw that a user or a sudoer left the list. For
	// some minutes, the controller looks for objects that a late request of this member creates.
	// +optional
	RevokedAt *metav1.Time `json:"revokedAt,omitempty"`
	// leftovers lists objects by which members who left can keep permissions: what people who are no
	// sudoers created or changed, the Roles and RoleBindings of service accounts, and those whose
	// author is not known. If there are more entries than the list can hold, the condition Clean says
	// how many.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Leftovers []Leftover `json:"leftovers,omitempty"`
	// billing holds the current billing period, and periods that have ended and that the billing
	// table may not have yet.
	// +optional
	Billing *BillingStatus `json:"billing,omitempty"`
	// conditions are Ready, NamespaceReady and Clean.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Granted lists the members that have permissions now.
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

// GrantedSudo is somebody who has sudo by a request.
type GrantedSudo struct {
	// subject is who has sudo, until the time in subject.until.
	Subject Subject `json:"subject"`
	// request is the name of the SudoRequest.
	Request string `json:"request"`
	// approvedBy is the user who approved the request. It is empty if nobody had to.
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
}

// SudoDelegation identifies the AuthorityDelegation by which one sudoer uses sudo.
type SudoDelegation struct {
	// subject is the sudoer.
	Subject Subject `json:"subject"`
	// delegation is the name of the AuthorityDelegation.
	Delegation string `json:"delegation"`
	// uid is the UID of the AuthorityDelegation.
	UID types.UID `json:"uid"`
}

// Leftover is an object by which members who left can keep permissions.
type Leftover struct {
	// kind is the kind of the object.
	Kind string `json:"kind"`
	// name is the name of the object. It is in the namespace of the tenant, unless it is an
	// AuthorityDelegation, which is in no namespace.
	Name string `json:"name"`
	// maker is the user who created or changed the object. It is empty if nobody recorded the author,
	// because the object is older than the records.
	Maker string `json:"maker"`
}

// BillingStatus is an outbox for the billing table. The controller writes the periods of the
// outbox to the table, and removes an ended period only after the table has it.
type BillingStatus struct {
	// open is the current period.
	// +optional
	Open *BillingPeriod `json:"open,omitempty"`
	// openStored is true if the billing table has the beginning of the current period.
	// +optional
	OpenStored bool `json:"openStored,omitempty"`
	// pending lists the periods that have ended and that the billing table may not have yet, in
	// the order of their sequence numbers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Pending []BillingPeriod `json:"pending,omitempty"`
	// recordedGeneration is a metadata.generation. The periods contain all changes of spec.billing up to
	// it.
	// +optional
	RecordedGeneration int64 `json:"recordedGeneration,omitempty"`
	// checksum is a checksum of all periods that have ended. By it, a report notices a changed row of
	// the billing table. Before the checksum stands the sequence number of the first of these periods.
	// +optional
	Checksum string `json:"checksum,omitempty"`
}

// BillingPeriod is a period of time in which one account pays.
type BillingPeriod struct {
	// sequence is the number of the period. The first period of a tenant has the number 1.
	Sequence int64 `json:"sequence"`
	// account and labels have the values of spec.billing at the beginning of the period.
	// +optional
	Account string `json:"account,omitempty"`
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// start is the time of the change of spec.billing, and the end of the previous period. For the
	// first period, it is the creation of the LNamespace.
	Start metav1.Time `json:"start"`
	// end is the end of the period. It is never before start, even if the clock was set back.
	// +optional
	End *metav1.Time `json:"end,omitempty"`
	// late is true if nobody recorded when spec.billing changed. Then start is a time at which the change
	// had happened already, and the former account paid until then.
	// +optional
	Late bool `json:"late,omitempty"`
}

// The types of conditions in status.conditions.
const (
	// ConditionReady is true if the members have exactly the permissions that the lists grant.
	ConditionReady = "Ready"
	// ConditionNamespaceReady is true if the namespace exists and belongs to the tenant.
	ConditionNamespaceReady = "NamespaceReady"
	// ConditionClean is True if status.leftovers is empty, and Unknown if the author of all objects in
	// it is unknown.
	ConditionClean = "Clean"
)
