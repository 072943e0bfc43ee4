// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LNamespace is a tenant of the cluster: a namespace with the same name, the members of the
// tenant, and the account that pays.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=lns,categories=tenancy
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Billing",type=string,JSONPath=`.spec.billing.account`
// +kubebuilder:printcolumn:name="Sudo-Group",type=string,JSONPath=`.status.sudoGroup`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="the name must be a DNS label: the namespace has the same name"
// +kubebuilder:validation:XValidation:rule="self.metadata.name != 'default' && !self.metadata.name.startsWith('kube-')",message="default and names that begin with kube- are reserved"
type LNamespace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec lists the members of the tenant and names the account that pays.
	// +optional
	Spec LNamespaceSpec `json:"spec,omitempty"`
	// status reports what the controller did for the tenant.
	// +optional
	Status LNamespaceStatus `json:"status,omitempty"`
}

// LNamespaceList is a list of tenants.
//
// +kubebuilder:object:root=true
type LNamespaceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LNamespace `json:"items"`
}

// LNamespaceSpec lists the members of a tenant and names the account that pays.
type LNamespaceSpec struct {
	// users have the permissions of the ClusterRole edit in the namespace, or those of the
	// ClusterRole that the controller's flag --user-role names.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Users []Subject `json:"users,omitempty"`
	// managers may change this LNamespace, except spec.sudo and spec.deletionPolicy. They may remove
	// sudoers, and not add any. They may not delete the LNamespace, and have no permissions in the
	// namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Managers []Subject `json:"managers,omitempty"`
	// sudoers may act with the permissions of the group status.sudoGroup. The group may read and
	// change the resources in the namespace, except those that limit the tenant, such as quotas.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Sudoers []Subject `json:"sudoers,omitempty"`
	// sudo sets which additional changes sudoers may make with sudo, and what happens to the objects
	// that a former sudoer created with sudo.
	// +optional
	Sudo Sudo `json:"sudo,omitempty"`
	// billing names the account that pays for the tenant.
	// +optional
	Billing Billing `json:"billing,omitempty"`
	// deletionPolicy is what happens to the namespace when the LNamespace is deleted: Delete, the
	// default, deletes it, and Retain keeps it. In both cases, the people of the tenant lose their
	// permissions. Only administrators set it, because nobody pays for a namespace that stays.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy is what happens to the namespace of a tenant when its LNamespace is deleted.
//
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// The values of spec.deletionPolicy.
const (
	DeleteNamespace DeletionPolicy = "Delete"
	RetainNamespace DeletionPolicy = "Retain"
)

// SubjectKind is the kind of a subject, which is a member of a tenant.
//
// +kubebuilder:validation:Enum=User;Group;ServiceAccount
type SubjectKind string

// The kinds of subjects.
const (
	UserKind           SubjectKind = "User"
	GroupKind          SubjectKind = "Group"
	ServiceAccountKind SubjectKind = "ServiceAccount"
)

// Subject is a user, a group or a service account.
//
// +kubebuilder:validation:XValidation:rule="has(self.__namespace__) == (self.kind == 'ServiceAccount')",message="a ServiceAccount needs a namespace, and nothing else has one"
// +kubebuilder:validation:XValidation:rule="!self.name.startsWith('lnamespace:')",message="names that begin with lnamespace: are reserved"
// +kubebuilder:validation:XValidation:rule="self.kind != 'User' || !self.name.startsWith('system:')",message="users of the system are no tenants; a service account has the kind ServiceAccount"
// +kubebuilder:validation:XValidation:rule="self.kind != 'Group' || !self.name.startsWith('system:') || self.name.startsWith('system:serviceaccounts:')",message="groups of the system are no tenants, except the service accounts of one namespace"
// +kubebuilder:validation:XValidation:rule="self.kind != 'ServiceAccount' || !format.dns1123Subdomain().validate(self.name).hasValue()",message="this is no name of a service account"
type Subject struct {
	// kind is User, Group or ServiceAccount.
	// +optional
	// +kubebuilder:default=User
	Kind SubjectKind `json:"kind,omitempty"`
	// name is the name of the user, the group or the service account.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	Name string `json:"name"`
	// namespace is the namespace of the service account.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
	// until is the time at which the entry ends, with a time zone, such as 2026-12-31T17:00:00Z. Then the
	// subject loses what the list grants. If it is empty, the entry does not end. If a list has several
	// entries of a subject, the latest end counts.
	//
	// The type is a text: a time that the schema accepts and Go does not would keep the controller from
	// reading any LNamespace.
	// +optional
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](Z|[-+](0[0-9]|1[0-4]):[0-5][0-9])$`
	Until string `json:"until,omitempty"`
}

// SudoAllowance is a change that sudoers may make with sudo only if spec.sudo.allow lists it.
//
// +kubebuilder:validation:Enum=Lists;Quotas;Namespace;Delete
type SudoAllowance string

// The values of spec.sudo.allow.
const (
	// AllowLists lets sudo change the lists of members, and spec.sudo itself.
	AllowLists SudoAllowance = "Lists"
	// AllowQuotas lets sudo change ResourceQuotas and LimitRanges.
	AllowQuotas SudoAllowance = "Quotas"
	// AllowNamespace lets sudo change the Namespace object, including the labels that pod security
	// and network policies use.
	AllowNamespace SudoAllowance = "Namespace"
	// AllowDelete lets sudo delete the LNamespace. The controller then deletes the namespace that
	// it created for the LNamespace, unless spec.deletionPolicy is Retain.
	AllowDelete SudoAllowance = "Delete"
)

// AtRevocation is what the controller does with the objects that a former sudoer created.
//
// +kubebuilder:validation:Enum=Report;Remove
type AtRevocation string

// The values of spec.sudo.atRevocation: list the objects in status.leftovers, or delete them.
const (
	ReportLeftovers AtRevocation = "Report"
	RemoveLeftovers AtRevocation = "Remove"
)

// Sudo configures sudo for a tenant.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.approval) || has(self.maxDuration)) || !has(self.allow) || !('Lists' in self.allow)",message="approval and maxDuration are not possible together with the allowance Lists: sudo could lift them"
type Sudo struct {
	// allow lists the changes that sudoers may make with sudo only if the tenant allows them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	Allow []SudoAllowance `json:"allow,omitempty"`
	// atRevocation sets what happens to the Roles and RoleBindings that a former sudoer created, and to
	// the Secrets and ServiceAccounts that it created with sudo: Report lists them in
	// status.leftovers, and Remove deletes them. What a service account created is only reported.
	// +optional
	// +kubebuilder:default=Report
	AtRevocation AtRevocation `json:"atRevocation,omitempty"`
	// approval sets whether somebody else must approve sudo. If it is Required, the sudoers of the list
	// have no sudo by that alone: each creates a SudoRequest, and another sudoer or a manager approves it.
	// It is not possible together with the allowance Lists, because sudo could lift it.
	// +optional
	Approval Approval `json:"approval,omitempty"`
	// maxDuration is the longest time for which a sudoer has sudo, such as 1h. If it is set, the sudoers of
	// the list have no sudo by that alone: each creates a SudoRequest. If only approval is set, it is 8h.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]{0,3}h)?([1-9][0-9]{0,3}m)?([1-9][0-9]{0,3}s)?$`
	MaxDuration Duration `json:"maxDuration,omitempty"`
}

// Approval is whether somebody else must approve sudo.
//
// +kubebuilder:validation:Enum=Required
type Approval string

// ApprovalRequired is the value of spec.sudo.approval.
const ApprovalRequired Approval = "Required"

// Billing names the account that pays for a tenant.
type Billing struct {
	// account is the name of the account that pays. It has no control characters, such as a tab or a
	// line break.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	Account string `json:"account,omitempty"`
	// labels are stored in the billing table together with the account. A key has at most 63
	// characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 63 && k.matches('^[^\\x00-\\x1f\\x7f-\\x9f]*$'))",message="a key has at most 63 characters, and no control characters"
	Labels map[string]BillingLabel `json:"labels,omitempty"`
}

// BillingLabel is the value of a billing label. The controller copies the billing labels to the
// status, so a limit keeps the status small enough to be stored.
//
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
type BillingLabel string
