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

// AuthorityDelegationPolicy makes the server delegate authority from the author of an object to
// the controllers that work on it. The server creates the delegation before the object is stored,
// and names it in an annotation that only the server can write.
type AuthorityDelegationPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata. The name is a DNS label: it is part of the
	// name of an annotation.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which objects cause a delegation, what is delegated, and to whom.
	// +required
	// +permission-verb:"specification"
	Spec AuthorityDelegationPolicySpec `json:"spec"`

	// status is written by the server when the specification is written, and by nobody else.
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

// NotHeldPolicy tells what happens to a write if the author lacks a permission to be delegated.
// +enum
type NotHeldPolicy string

const (
	// NotHeldRefuse refuses the write.
	NotHeldRefuse NotHeldPolicy = "Refuse"
	// NotHeldSkip stores the object without a delegation, removes the one that it had, and
	// returns a warning.
	NotHeldSkip NotHeldPolicy = "Skip"
)

// Bounds of a policy.
const (
	// MaxNeutral is the maximum number of neutral permissions of a policy.
	MaxNeutral = 16
	// MinOrphanSeconds is the minimum of orphanSeconds. A write must take less than half of this
	// time.
	MinOrphanSeconds = 180
	// DefaultOrphanSeconds is the default of orphanSeconds.
	DefaultOrphanSeconds = 3600
)

// PolicyPrefix is the prefix of the names of delegations that policies create. Other delegations
// can't use it.
const PolicyPrefix = "by-policy-"

// StampRenew is a value for the annotation that names a delegation (see selection.Stamped). With
// it, a caller requests a delegation of its own authority in place of the present one.
const StampRenew = "renew"

// AuthorityDelegationPolicySpec sets which objects cause a delegation, and what is delegated.
type AuthorityDelegationPolicySpec struct {
	// resource is the resource whose objects cause delegations. It must be namespaced, because a
	// delegation is valid in the namespace of its object. All writes count, including those of
	// subresources.
	// +required
	Resource GroupResource `json:"resource"`

	// namespaceSelector limits the policy to namespaces by their labels. The default is all
	// namespaces.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// neutral are included permissions whose fields may be changed without causing another
	// delegation. Changes of all other fields cause one, except for metadata and status. The
	// default is replicas, so that a caller who scales need not hold the delegated permissions;
	// it has no effect for a resource without replicas. For custom resources, replicas is the
	// only permitted value.
	// +optional
	// +listType=atomic
	// +default=["replicas"]
	Neutral []string `json:"neutral"`

	// delegates are the subjects that may act with the authority, each independently.
	// +required
	// +listType=atomic
	Delegates []Delegate `json:"delegates"`

	// roleRef names the ClusterRole whose rules are delegated. The rules are copied when the
	// policy is written: later changes of the role have no effect. Exactly one of roleRef and
	// rules must be set.
	// +optional
	RoleRef *DelegatedRole `json:"roleRef,omitempty"`

	// rules are the delegated rules, written as in a role.
	// +optional
	// +listType=atomic
	Rules []rbacv1.PolicyRule `json:"rules,omitempty"`

	// conditions must hold for each write with the authority.
	// +optional
	// +listType=atomic
	Conditions []DelegationCondition `json:"conditions,omitempty"`

	// ifLost tells what happens to the delegations of an author who loses permissions: Withdraw,
	// the default, or Keep. A delegation that was made under another delegation always ends with
	// that one.
	// +optional
	// +default="Withdraw"
	IfLost LossPolicy `json:"ifLost,omitempty"`

	// ifNotHeld tells what happens to a write if the author lacks a permission to be delegated:
	// Refuse, the default, or Skip.
	// +optional
	// +default="Refuse"
	IfNotHeld NotHeldPolicy `json:"ifNotHeld,omitempty"`

	// idleSeconds is the time without use after which a delegation ends. By default there is no
	// such limit.
	// +optional
	IdleSeconds *int64 `json:"idleSeconds,omitempty"`

	// orphanSeconds is the minimum time for which a delegation is kept after the last object that
	// names it is gone. The default is 3600.
	// +optional
	OrphanSeconds *int64 `json:"orphanSeconds,omitempty"`
}

// AuthorityDelegationPolicyStatus is written by the server together with the specification.
type AuthorityDelegationPolicyStatus struct {
	// author is the user who wrote the specification.
	// +optional
	Author string `json:"author,omitempty"`

	// rules are the delegated rules.
	// +optional
	// +listType=atomic
	Rules []rbacv1.PolicyRule `json:"rules,omitempty"`

	// role is the role from which the rules were read.
	// +optional
	Role *SnapshotRole `json:"role,omitempty"`
}

// DelegationCause is the cause of a delegation that a policy created.
type DelegationCause struct {
	// policy is the name of the AuthorityDelegationPolicy.
	// +required
	Policy string `json:"policy"`

	// uid is the UID of the policy.
	// +required
	UID types.UID `json:"uid"`

	// resource is the resource of the objects that name the delegation.
	// +required
	Resource GroupResource `json:"resource"`

	// orphanSeconds is the time for which the delegation is kept when no object names it.
	// +optional
	OrphanSeconds int64 `json:"orphanSeconds,omitempty"`

	// renewed is when the delegation was last assigned to an object, if that was long after its
	// creation.
	// +optional
	Renewed *metav1.Time `json:"renewed,omitempty"`
}
