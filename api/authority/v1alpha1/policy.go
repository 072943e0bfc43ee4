// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// +genclient
// +genclient:nonNamespaced
// +genclient:noStatus
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AuthorityDelegationPolicy makes the server delegate authority of whoever writes an object
// to those who work on it. The delegation is there before the object is stored, and an
// annotation of the object, which the server alone writes, names it.
type AuthorityDelegationPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata. The name is a DNS label: it is part of the
	// name of an annotation.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which objects cause a delegation, and what is delegated to whom.
	// +required
	// +permission-verb:"specification"
	Spec AuthorityDelegationPolicySpec `json:"spec"`

	// status is what the server wrote down when the specification was written. Nobody else
	// writes it.
	// +optional
	// +permission-verb:"status"
	Status AuthorityDelegationPolicyStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AuthorityDelegationPolicyList is a list of AuthorityDelegationPolicies.
type AuthorityDelegationPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the policies.
	Items []AuthorityDelegationPolicy `json:"items"`
}

// NotHeldPolicy is what becomes of a write whose author has not got what is to be delegated.
// +enum
type NotHeldPolicy string

const (
	// NotHeldRefuse refuses the write.
	NotHeldRefuse NotHeldPolicy = "Refuse"
	// NotHeldSkip stores the object without a delegation, takes away the one that it had, and
	// warns.
	NotHeldSkip NotHeldPolicy = "Skip"
)

// Bounds of a policy.
const (
	// MaxNeutral is how many neutral permissions a policy may have.
	MaxNeutral = 16
	// MinOrphanSeconds is the shortest time for which a delegation stays that no object names.
	// A write must not take half as long.
	MinOrphanSeconds = 180
	// DefaultOrphanSeconds is that time where a policy does not say.
	DefaultOrphanSeconds = 3600
)

// PolicyPrefix begins the names of delegations that policies cause. Nobody else can use it.
const PolicyPrefix = "by-policy-"

// StampRenew is the value of the annotation that names a delegation (see selection.Stamped) with which a caller asks that its own
// authority takes the place of whatever the object names.
const StampRenew = "renew"

// AuthorityDelegationPolicySpec is which objects cause a delegation, and what is delegated.
type AuthorityDelegationPolicySpec struct {
	// resource is what is written. Its objects must be in namespaces: a delegation holds in the
	// namespace of the object that caused it. All ways of writing count, subresources included.
	// +required
	Resource GroupResource `json:"resource"`

	// namespaceSelector limits the policy to namespaces by their labels. Without one all count.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// neutral are the included permissions whose fields may be changed without causing another
	// delegation. Whatever else is changed does, but for metadata and status. It is replicas if
	// it is not set, so that whoever scales does not have to hold what is delegated; replicas
	// means nothing where a resource has none. Custom resources have no others.
	// +optional
	// +listType=atomic
	// +default=["replicas"]
	Neutral []string `json:"neutral"`

	// delegates are those who may act with the authority. Each may for itself.
	// +required
	// +listType=atomic
	Delegates []Delegate `json:"delegates"`

	// roleRef names the ClusterRole whose rules are delegated, as they are when the policy is
	// written: later changes of the role are not part of it. Exactly one of roleRef and rules
	// must be set.
	// +optional
	RoleRef *DelegatedRole `json:"roleRef,omitempty"`

	// rules are what is delegated, written as in a role.
	// +optional
	// +listType=atomic
	Rules []rbacv1.PolicyRule `json:"rules,omitempty"`

	// conditions must hold for each write with the authority.
	// +optional
	// +listType=atomic
	Conditions []DelegationCondition `json:"conditions,omitempty"`

	// ifLost is what becomes of the delegations of an author who loses rights: Withdraw, the
	// default, or Keep. What is made under another delegation ends with that, in any case.
	// +optional
	// +default="Withdraw"
	IfLost LossPolicy `json:"ifLost,omitempty"`

	// ifNotHeld is what becomes of a write whose author has not got all that is to be delegated:
	// Refuse, the default, or Skip.
	// +optional
	// +default="Refuse"
	IfNotHeld NotHeldPolicy `json:"ifNotHeld,omitempty"`

	// idleSeconds is for how long nobody may use a delegation until it ends. Without it, it does
	// not end by itself.
	// +optional
	IdleSeconds *int64 `json:"idleSeconds,omitempty"`

	// orphanSeconds is for how long a delegation stays at least that no object names any more, 3600
	// if it is not set.
	// +optional
	OrphanSeconds *int64 `json:"orphanSeconds,omitempty"`
}

// AuthorityDelegationPolicyStatus is what the server wrote down with the specification.
type AuthorityDelegationPolicyStatus struct {
	// author is who wrote the specification.
	// +optional
	Author string `json:"author,omitempty"`

	// rules are what is delegated.
	// +optional
	// +listType=atomic
	Rules []rbacv1.PolicyRule `json:"rules,omitempty"`

	// role is the role that rules are from.
	// +optional
	Role *SnapshotRole `json:"role,omitempty"`
}

// DelegationCause is what caused a delegation that nobody asked for.
type DelegationCause struct {
	// policy is the name of the AuthorityDelegationPolicy.
	// +required
	Policy string `json:"policy"`

	// uid is the UID of that policy.
	// +required
	UID types.UID `json:"uid"`

	// resource is that of the objects that name the delegation.
	// +required
	Resource GroupResource `json:"resource"`

	// orphanSeconds is for how long the delegation stays when no object names it.
	// +optional
	OrphanSeconds int64 `json:"orphanSeconds,omitempty"`

	// renewed is when the delegation was last given to an object, if that is long after it was
	// created.
	// +optional
	Renewed *metav1.Time `json:"renewed,omitempty"`
}
