// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ConditionAccepted is the type of the condition that tells whether the attribute is in effect,
// and if not, the reason.
const ConditionAccepted = "Accepted"

// Reasons of the condition Accepted.
const (
	// ReasonAccepted: the attribute is in effect.
	ReasonAccepted = "Accepted"
	// ReasonRoleNotFound: the attribute is in effect, but nobody holds its role, because the
	// role does not exist.
	ReasonRoleNotFound = "RoleNotFound"
	// ReasonNamespaceReplaced: the attribute was made for an earlier namespace of the same name,
	// and has no effect.
	ReasonNamespaceReplaced = "NamespaceReplaced"
)

// ConditionBindingsAsked is the type of the condition that tells whether all bindings of the
// role needed the verb "bind" when they were created. If the condition is False, some of them are
// not newer than the specification, or are ClusterRoleBindings, which do not need it because of an
// attribute of a namespace.
const ConditionBindingsAsked = "BindingsAsked"

// Reasons of the condition BindingsAsked.
const (
	// ReasonBindingsAsked: all bindings of the role are newer than the specification.
	ReasonBindingsAsked = "BindingsAsked"
	// ReasonEarlierBindings: some bindings of the role are not newer than the specification.
	// They are listed in earlierBindings.
	ReasonEarlierBindings = "EarlierBindings"
	// ReasonClusterRoleBindings: the attribute is in a namespace, and ClusterRoleBindings count.
	// Creating these does not need the verb "bind" because of this attribute.
	ReasonClusterRoleBindings = "ClusterRoleBindings"
)

// The limits of the lists in a status. The counts have no limit.
const (
	MaxHolders         = 64
	MaxEarlierBindings = 64
)

// ProtectedAttributeStatus is the observed state of an attribute.
type ProtectedAttributeStatus struct {
	// observedGeneration is the generation of the attribute for which the status was computed.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions tell whether the attribute is in effect. The types are Accepted and
	// BindingsAsked.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +permission-verb:"conditions"
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// namespaceUID is the UID of the namespace in which the attribute was created. The server
	// sets it, and it is immutable. If the namespace has another UID, it was replaced, and the
	// attribute has no effect.
	// +optional
	NamespaceUID types.UID `json:"namespaceUID,omitempty"`

	// lastChange tells who last changed the specification. The server sets it.
	// +optional
	LastChange *LastChange `json:"lastChange,omitempty"`

	// role is the role that roleRef names, if it exists.
	// +optional
	Role *ResolvedRole `json:"role,omitempty"`

	// holders are subjects that hold the role, at most 64. If the attribute is in a namespace,
	// they do not include those of ClusterRoleBindings.
	// +optional
	// +listType=atomic
	Holders []Subject `json:"holders,omitempty"`

	// holderCount is the number of subjects that hold the role.
	// +optional
	HolderCount int64 `json:"holderCount,omitempty"`

	// earlierBindings are bindings of the role that are not newer than the specification, at most
	// 64: the attribute did not require the verb "bind" on the role when they were created. If the
	// attribute is in a namespace, they do not include ClusterRoleBindings.
	// +optional
	// +listType=atomic
	EarlierBindings []BindingReference `json:"earlierBindings,omitempty"`

	// earlierBindingCount is the number of bindings of the role that are not newer than the
	// specification.
	// +optional
	EarlierBindingCount int64 `json:"earlierBindingCount,omitempty"`

	// auditViolations is the number of requests that the attribute would have refused while its
	// mode was Audit. Each server adds its count every few seconds. If a server stops, its last
	// count may be lost.
	// +optional
	AuditViolations int64 `json:"auditViolations,omitempty"`
}

// LastChange tells who last changed a specification.
type LastChange struct {
	// time is when the change was stored.
	// +required
	Time metav1.Time `json:"time"`

	// user is the name of the user who made the change.
	// +required
	User string `json:"user"`

	// generation is the generation of the attribute that the change made.
	// +required
	Generation int64 `json:"generation"`
}

// ResolvedRole identifies an existing role.
type ResolvedRole struct {
	// kind is Role or ClusterRole.
	// +required
	Kind string `json:"kind"`

	// name is the name of the role.
	// +required
	Name string `json:"name"`

	// uid is the UID of the role.
	// +required
	UID types.UID `json:"uid"`
}

// Subject is a user, a group or a service account.
type Subject struct {
	// kind is User, Group or ServiceAccount.
	// +required
	Kind string `json:"kind"`

	// namespace is the namespace of a service account.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name is the name of the subject.
	// +required
	Name string `json:"name"`
}

// BindingReference names a RoleBinding or a ClusterRoleBinding.
type BindingReference struct {
	// kind is RoleBinding or ClusterRoleBinding.
	// +required
	Kind string `json:"kind"`

	// namespace is the namespace of a RoleBinding.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name is the name of the binding.
	// +required
	Name string `json:"name"`
}
