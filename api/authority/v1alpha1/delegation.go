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

// AuthorityDelegation lets others act with rights of the user who creates it. A delegate
// selects it with the request header Authority-Selector. Deleting it revokes it.
type AuthorityDelegation struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says who may act, with which rights, and where. It can't be changed, but that the
	// delegation may be made to end earlier.
	// +required
	// +permission-verb:"specification"
	Spec AuthorityDelegationSpec `json:"spec"`

	// status is what the server wrote down when the delegation was created. Nobody else
	// writes it.
	// +optional
	// +permission-verb:"status"
	Status AuthorityDelegationStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AuthorityDelegationList is a list of AuthorityDelegations.
type AuthorityDelegationList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the delegations.
	Items []AuthorityDelegation `json:"items"`
}

// DelegateKind is a kind of subject that authority can be delegated to.
// +enum
type DelegateKind string

const (
	// DelegateUser is a user, by the name that authentication gives.
	DelegateUser DelegateKind = "User"
	// DelegateGroup is all members of a group.
	DelegateGroup DelegateKind = "Group"
	// DelegateServiceAccount is a service account of a namespace.
	DelegateServiceAccount DelegateKind = "ServiceAccount"
)

// LossPolicy is what becomes of a delegation whose delegator loses a right.
// +enum
type LossPolicy string

const (
	// LossWithdraw takes the right from the delegation at once.
	LossWithdraw LossPolicy = "Withdraw"
	// LossKeep leaves it what was delegated. It takes the verb "delegate" to create such a
	// delegation.
	LossKeep LossPolicy = "Keep"
)

// VerbDelegate is the verb that it takes, on authoritydelegations, to delegate with
// LossKeep, or what no role gives the delegator.
const VerbDelegate = "delegate"

// Bounds of a delegation.
const (
	// MaxChain is how many delegations a chain may have.
	MaxChain = 8
	// MaxDelegates is how many delegates a delegation may name.
	MaxDelegates = 16
	// MaxRules is how many rules a delegation may have.
	MaxRules = 64
	// MaxRuleLength is how many verbs, groups, resources, names or URLs a rule may have.
	MaxRuleLength = 64
	// MaxObjectUIDs is how many objects a delegation may be limited to.
	MaxObjectUIDs = 64
	// MaxConditions is how many conditions a delegation may have.
	MaxConditions = 16
	// MaxExpressionLength is the longest expression of a condition, in bytes.
	MaxExpressionLength = 4096
	// MinIdleSeconds is the shortest time without use after which a delegation may end.
	MinIdleSeconds = 60
)

// AuthorityDelegationSpec is who may act, with which rights, and where.
type AuthorityDelegationSpec struct {
	// delegates are those who may act with the authority. Each may for itself.
	// +required
	// +listType=atomic
	Delegates []Delegate `json:"delegates"`

	// roleRef names the role whose rules are delegated, as they are when the delegation is
	// created: later changes of the role are not part of it. Exactly one of roleRef and rules
	// must be set.
	// +optional
	RoleRef *DelegatedRole `json:"roleRef,omitempty"`

	// rules are what is delegated, written as in a role.
	// +optional
	// +listType=atomic
	Rules []rbacv1.PolicyRule `json:"rules,omitempty"`

	// scope is where the authority holds: a namespace, or the cluster.
	// +required
	Scope DelegationScope `json:"scope"`

	// objectUIDs are the objects that may be updated, patched and deleted, whatever else the
	// rules allow. An object of the same name that is made later is not among them. Empty
	// means no such limit.
	// +optional
	// +listType=atomic
	ObjectUIDs []types.UID `json:"objectUIDs,omitempty"`

	// conditions must hold for each write. A delegation with conditions allows create, update
	// and patch only.
	// +optional
	// +listType=atomic
	Conditions []DelegationCondition `json:"conditions,omitempty"`

	// ifLost is what becomes of the delegation when its delegator loses rights. Withdraw, the
	// default, takes them from it at once: it allows what the delegator may do now. With Keep it
	// goes on to allow what it did.
	// +optional
	// +default="Withdraw"
	IfLost LossPolicy `json:"ifLost,omitempty"`

	// expirationTimestamp is when the delegation ends. It may be made earlier, and not later.
	// +optional
	ExpirationTimestamp *metav1.Time `json:"expirationTimestamp,omitempty"`

	// idleSeconds is for how long nobody may use the delegation until it ends. It ends a quarter
	// of that earlier at most, because uses are not written down one by one.
	// +optional
	IdleSeconds *int64 `json:"idleSeconds,omitempty"`
}

// Delegate is a subject that authority is delegated to.
type Delegate struct {
	// kind is User, Group or ServiceAccount.
	// +required
	Kind DelegateKind `json:"kind"`

	// namespace is that of a ServiceAccount.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name is the name of the subject.
	// +required
	Name string `json:"name"`

	// uid, if it is set, is the UID that the user or service account must have.
	// +optional
	UID types.UID `json:"uid,omitempty"`
}

// DelegatedRole names a role.
type DelegatedRole struct {
	// kind is Role or ClusterRole.
	// +required
	Kind string `json:"kind"`

	// name is the name of the role. A Role is one of the namespace in scope.
	// +required
	Name string `json:"name"`
}

// DelegationScope is where authority holds. Exactly one of its fields must be set.
type DelegationScope struct {
	// namespace is the namespace that all requests must be in.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// cluster means all namespaces, and what has none.
	// +optional
	Cluster bool `json:"cluster,omitempty"`
}

// DelegationCondition is a CEL expression that must be true for a write.
type DelegationCondition struct {
	// expression is written over object, which is about to be stored, oldObject, which is null
	// when object is created, and podTemplateHash and oldPodTemplateHash, which are "sha256:"
	// and the hash of their spec.template, or empty. If it fails or costs too much the write is
	// refused.
	// +required
	Expression string `json:"expression"`

	// message is what whoever is refused is told. The expression is told otherwise.
	// +optional
	Message string `json:"message,omitempty"`

	// apiVersions are those versions of custom resources that the expression is written for;
	// a custom resource that is written in another is refused. Kinds of Kubernetes itself are
	// always in the version that the server prefers.
	// +optional
	// +listType=atomic
	APIVersions []string `json:"apiVersions,omitempty"`
}

// AuthorityDelegationStatus is what the server wrote down when the delegation was created.
type AuthorityDelegationStatus struct {
	// delegator is who created the delegation.
	// +optional
	Delegator DelegatorIdentity `json:"delegator,omitempty"`

	// rules are what is delegated.
	// +optional
	// +listType=atomic
	Rules []rbacv1.PolicyRule `json:"rules,omitempty"`

	// role is the role that rules are from.
	// +optional
	Role *SnapshotRole `json:"role,omitempty"`

	// namespaceUID is the UID of the namespace in scope. The delegation does not hold in
	// another namespace of that name.
	// +optional
	NamespaceUID types.UID `json:"namespaceUID,omitempty"`

	// history is how the authority came to the delegator, from its source on. It is empty for
	// a delegator who delegated what is its own.
	// +optional
	// +listType=atomic
	History []ChainEntry `json:"history,omitempty"`

	// expirationTimestamp is when the delegation ends: the earliest of its own and those of
	// the delegations in history when it was created.
	// +optional
	ExpirationTimestamp *metav1.Time `json:"expirationTimestamp,omitempty"`

	// lastUsed is when a delegation with idleSeconds was last known to be used.
	// +optional
	LastUsed *metav1.Time `json:"lastUsed,omitempty"`

	// cause is what caused a delegation that nobody asked for.
	// +optional
	Cause *DelegationCause `json:"cause,omitempty"`
}

// DelegatorIdentity is a user as authentication gave it.
type DelegatorIdentity struct {
	// username is the name of the user.
	// +optional
	Username string `json:"username,omitempty"`

	// uid is the UID of the user, if it has one.
	// +optional
	UID string `json:"uid,omitempty"`

	// groups are those that the user was of.
	// +optional
	// +listType=atomic
	Groups []string `json:"groups,omitempty"`

	// extra is what else authentication told of the user.
	// +optional
	Extra map[string][]string `json:"extra,omitempty"`
}

// SnapshotRole is a role as it was.
type SnapshotRole struct {
	DelegatedRole `json:",inline"`

	// namespace is that of a Role.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// uid is the UID of the role.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// resourceVersion is that of the role when its rules were read.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// ChainVia is how authority was handed over.
// +enum
type ChainVia string

const (
	// ViaDelegation is an AuthorityDelegation.
	ViaDelegation ChainVia = "Delegation"
	// ViaImpersonation is impersonation.
	ViaImpersonation ChainVia = "Impersonation"
	// ViaToken is a bound token of a service account.
	ViaToken ChainVia = "Token"
)

// ChainEntry is one handing over of authority. It has the same form in audit logs.
type ChainEntry struct {
	// via is Delegation, Impersonation or Token.
	// +required
	Via ChainVia `json:"via"`

	// by is the user who handed the authority over. A long name is cut.
	// +optional
	By string `json:"by,omitempty"`

	// byUID is the UID of that user, if it has one.
	// +optional
	ByUID string `json:"byUID,omitempty"`

	// name is that of the AuthorityDelegation, or Pod/NAME or Node/NAME of what a token is bound to.
	// +optional
	Name string `json:"name,omitempty"`

	// uid is the UID of what name names.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// until is when the delegation ends at the latest.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// credential is the id of the token.
	// +optional
	Credential string `json:"credential,omitempty"`
}
