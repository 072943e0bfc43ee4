// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LNamespace is a tenant: a namespace of the same name, its people, and who pays.
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

	// spec says who the people of the tenant are and who pays.
	// +optional
	Spec LNamespaceSpec `json:"spec,omitempty"`
	// status says what was made of it. The controller writes it.
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

// LNamespaceSpec says who the people of a tenant are and who pays.
type LNamespaceSpec struct {
	// users edit the ordinary resources in the namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Users []Subject `json:"users,omitempty"`
	// managers edit this object, except the lists of sudoers and what sudo is allowed, and
	// nothing else.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Managers []Subject `json:"managers,omitempty"`
	// sudoers may impersonate the group that has all rights in the namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Sudoers []Subject `json:"sudoers,omitempty"`
	// sudo says what sudo reaches beyond what lies in the namespace, and what becomes of what
	// was made with it.
	// +optional
	Sudo Sudo `json:"sudo,omitempty"`
	// billing says who pays.
	// +optional
	Billing Billing `json:"billing,omitempty"`
}

// SubjectKind is a kind of people.
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
// +kubebuilder:validation:XValidation:rule="self.kind != 'ServiceAccount' || self.name.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="this is no name of a service account"
type Subject struct {
	// kind is User, Group or ServiceAccount.
	// +optional
	// +kubebuilder:default=User
	Kind SubjectKind `json:"kind,omitempty"`
	// name is the name of the user, the group or the service account.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// namespace is that of the service account.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
}

// SudoAllowance is something that sudo does not reach unless the tenant allows it.
//
// +kubebuilder:validation:Enum=Lists;Quotas;Namespace;Delete
type SudoAllowance string

// What a tenant may allow.
const (
	// AllowLists lets sudo change the lists of people and what sudo is allowed.
	AllowLists SudoAllowance = "Lists"
	// AllowQuotas lets sudo change ResourceQuotas and LimitRanges.
	AllowQuotas SudoAllowance = "Quotas"
	// AllowNamespace lets sudo change the Namespace object, with the labels that pod security
	// and network policies go by.
	AllowNamespace SudoAllowance = "Namespace"
	// AllowDelete lets sudo delete the LNamespace, and with it the namespace.
	AllowDelete SudoAllowance = "Delete"
)

// AtRevocation says what becomes of what somebody made with sudo who is a sudoer no longer.
//
// +kubebuilder:validation:Enum=Report;Remove
type AtRevocation string

// What becomes of what was made with sudo.
const (
	ReportLeftovers AtRevocation = "Report"
	RemoveLeftovers AtRevocation = "Remove"
)

// Sudo says what sudo reaches.
type Sudo struct {
	// allow lists what sudo reaches beyond what lies in the namespace.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	Allow []SudoAllowance `json:"allow,omitempty"`
	// atRevocation says whether bindings, token secrets and service accounts that somebody made
	// with sudo are removed, or reported only, when that one is a sudoer no longer.
	// +optional
	// +kubebuilder:default=Report
	AtRevocation AtRevocation `json:"atRevocation,omitempty"`
}

// Billing says who pays for a tenant.
type Billing struct {
	// account is who pays, in the words of the accounts department.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Account string `json:"account,omitempty"`
	// labels are what else the bill shows.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Labels map[string]string `json:"labels,omitempty"`
}
