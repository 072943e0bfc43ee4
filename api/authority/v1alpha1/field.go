// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// FieldPermission gives fields of a resource permissions of their own, in addition to those that
// the author of the resource declared. Such a permission can be granted alone. If it is excluded,
// update and patch do not include it any more.
type FieldPermission struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata. The name is the resource to which the entries
	// apply: RESOURCE.GROUP, such as "applications.argoproj.io", and for the core group RESOURCE,
	// such as "services". So a resource has at most one FieldPermission.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which fields have which permissions.
	// +required
	// +permission-verb:"specification"
	Spec FieldPermissionSpec `json:"spec"`

	// status is the observed state. The server writes it.
	// +optional
	// +permission-verb:"status"
	Status FieldPermissionStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// FieldPermissionList is a list of FieldPermissions.
type FieldPermissionList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the FieldPermissions.
	Items []FieldPermission `json:"items"`
}

// Bounds of a FieldPermission.
const (
	// MaxFields is the maximum number of entries.
	MaxFields = 64
	// MaxFieldPathLength is the maximum length of a path, in bytes.
	MaxFieldPathLength = 1024
)

// FieldPermissionSpec sets which fields of a resource have which permissions.
type FieldPermissionSpec struct {
	// version is the version of the resource for which the paths are written. By default the server
	// fills in the preferred version of the resource.
	// +optional
	Version string `json:"version,omitempty"`

	// mode is Audit, the default, or Enforce. In both modes the permissions can be granted. Entries
	// with excluded refuse requests only in the mode Enforce. In the mode Audit they warn the caller
	// and are counted.
	// +optional
	// +default="Audit"
	Mode Mode `json:"mode,omitempty"`

	// fields are the fields that have permissions.
	// +required
	// +listType=map
	// +listMapKey=path
	Fields []FieldEntry `json:"fields"`
}

// FieldEntry gives one field a permission.
type FieldEntry struct {
	// path is the path of the field from the root of the object, such as ".spec.syncPolicy". "[*]"
	// stands for every element of a list or every value of a map, as in ".spec.sources[*].repoURL". A
	// name with a dot or a bracket is written in brackets, as in `.spec["a.b"]`.
	// +required
	Path string `json:"path"`

	// permission is the name of the new permission: a domain, a slash, and a name in lowerCamelCase,
	// such as "argoproj.io/syncPolicy". It must not occur in the schema of the resource.
	// +required
	Permission string `json:"permission"`

	// excluded is true if update and patch do not include the permission.
	// +optional
	Excluded bool `json:"excluded,omitempty"`
}

// Reasons of the condition Accepted of a FieldPermission, in addition to ReasonAccepted.
const (
	// ReasonNotServedHere: this server stores no objects of the resource, because there is no such
	// resource, or because another server serves it. The entries have no effect.
	ReasonNotServedHere = "NotServedHere"
	// ReasonNotApplied: some entries are not in force as they are written. The status of each entry
	// has the reason.
	ReasonNotApplied = "NotApplied"
)

// EntryState tells whether an entry is in force.
// +enum
type EntryState string

const (
	// EntryActive: the entry is in force.
	EntryActive EntryState = "Active"
	// EntryIdle: the entry has no effect, because there is nothing that it could apply to.
	EntryIdle EntryState = "Idle"
	// EntryDegraded: the field can't be told from others any more. The entry applies to the larger
	// field that status.fields[].held names.
	EntryDegraded EntryState = "Degraded"
)

// The limits of the lists in the status of a FieldPermission. The counts have no limit.
const (
	MaxAlsoReachable = 16
	MaxEntryHolders  = 16
	MaxNotHeld       = 16
)

// FieldPermissionStatus is the observed state of a FieldPermission.
type FieldPermissionStatus struct {
	// observedGeneration is the generation for which the status was computed.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions tell whether the entries are in force. The type is Accepted.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +permission-verb:"conditions"
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// lastChange tells who last changed the specification. The server sets it.
	// +optional
	LastChange *LastChange `json:"lastChange,omitempty"`

	// kind is the kind of the resource, if the server serves it.
	// +optional
	Kind string `json:"kind,omitempty"`

	// fields has the state of each entry.
	// +optional
	// +listType=map
	// +listMapKey=path
	Fields []FieldEntryStatus `json:"fields,omitempty"`

	// notHeld are some subjects that an excluded entry does not stop, at most 16, because a role
	// allows them all verbs ("*") on the resource. Members of system:masters are not stopped
	// either, and are not listed.
	// +optional
	// +listType=atomic
	NotHeld []Subject `json:"notHeld,omitempty"`

	// notHeldCount is the number of subjects that a role allows all verbs on the resource.
	// +optional
	NotHeldCount int64 `json:"notHeldCount,omitempty"`

	// auditViolations is the number of requests that the excluded entries would have refused while
	// the mode was Audit. Each server adds its count every few seconds. If a server stops, its last
	// count may be lost.
	// +optional
	AuditViolations int64 `json:"auditViolations,omitempty"`

	// auditUsers are the users of some of these requests, at most 16.
	// +optional
	// +listType=atomic
	AuditUsers []string `json:"auditUsers,omitempty"`
}

// MaxAuditUsers is the limit of status.auditUsers of a FieldPermission.
const MaxAuditUsers = 16

// FieldEntryStatus is the observed state of one entry.
type FieldEntryStatus struct {
	// path is the path of the entry.
	// +required
	Path string `json:"path"`

	// state is Active, Idle or Degraded.
	// +required
	State EntryState `json:"state"`

	// reason says in one word why the state is not Active.
	// +optional
	Reason string `json:"reason,omitempty"`

	// held is the path of the field to which the entry applies instead, if the state is Degraded.
	// +optional
	Held string `json:"held,omitempty"`

	// alsoReachable are paths of fields with the same definition that the entry does not cover, at
	// most 16. The same effect may be possible through them.
	// +optional
	// +listType=atomic
	AlsoReachable []string `json:"alsoReachable,omitempty"`

	// holders are some subjects to which a role grants the permission by its name, at most 16.
	// +optional
	// +listType=atomic
	Holders []Subject `json:"holders,omitempty"`

	// holderCount is the number of subjects to which a role grants the permission by its name.
	// +optional
	HolderCount int64 `json:"holderCount,omitempty"`
}
