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

// AuthorityDelegation lets others act with permissions of the user who creates it. A delegate
// selects it with the request header Authority-Selector. Deleting it revokes it.
type AuthorityDelegation struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says who may act, with which permissions, and where. It is immutable, except that the
	// expiration may become earlier.
	// +required
	// +permission-verb:"specification"
	Spec AuthorityDelegationSpec `json:"spec"`

	// status is written by the server when the delegation is created, and by nobody else.
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

// LossPolicy tells what happens to a delegation whose delegator loses a permission.
// +enum
type LossPolicy string

const (
	// LossWithdraw removes the permission from the delegation at once.
	LossWithdraw LossPolicy = "Withdraw"
	// LossKeep keeps the delegated permissions. The verb "delegate" is needed to create such a
	// delegation.
	LossKeep LossPolicy = "Keep"
)

// VerbDelegate is the verb on authoritydelegations that is needed to delegate with LossKeep, or
// to delegate permissions that the delegator does not have by a role.
const VerbDelegate = "delegate"

// Bounds of a delegation.
const (
	// MaxChain is the maximum number of delegations in a chain.
	MaxChain = 8
	// MaxDelegates is the maximum number of delegates of a delegation.
	MaxDelegates = 16
	// MaxRules is the maximum number of rules of a delegation.
	MaxRules = 64
	// MaxRuleLength is the maximum number of verbs, groups, resources, names or URLs in a rule.
	MaxRuleLength = 64
	// MaxPermissions is the maximum number of permissions in all rules of a delegation: the
	// combinations of a verb with a resource and a name, or with a URL.
	MaxPermissions = 65536
	// MaxObjectUIDs is the maximum number of objectUIDs of a delegation.
	MaxObjectUIDs = 64
	// MaxConditions is the maximum number of conditions of a delegation.
	MaxConditions = 16
	// MaxExpressionLength is the maximum length of the expression of a condition, in bytes.
	MaxExpressionLength = 4096
	// MaxExpressionsLength is the maximum length of the expressions of all conditions together, in
	// bytes. The server compiles them when the delegation is created, which may take a tenth of a
	// second for 2 KiB.
	MaxExpressionsLength = 8192
	// MinIdleSeconds is the minimum of idleSeconds.
	MinIdleSeconds = 60
)

// AuthorityDelegationSpec sets who may act, with which permissions, and where.
type AuthorityDelegationSpec struct {
	// delegates are the subjects that may act with the authority, each independently.
	// +required
	// +listType=atomic
	Delegates []Delegate `json:"delegates"`

	// roleRef names the role whose rules are delegated. The rules are copied when the delegation
	// is created: later changes of the role have no effect. Exactly one of roleRef and rules must
	// be set.
	// +optional
	RoleRef *DelegatedRole `json:"roleRef,omitempty"`

	// rules are the delegated rules, written as in a role.
	// +optional
	// +listType=atomic
	Rules []rbacv1.PolicyRule `json:"rules,omitempty"`

	// scope is where the authority is valid: in a namespace, or in the cluster.
	// +required
	Scope DelegationScope `json:"scope"`

	// objectUIDs limits updates, patches and deletions to objects with these UIDs, even if the
	// rules allow others. A later object with the same name has another UID. Empty means no such
	// limit.
	// +optional
	// +listType=atomic
	ObjectUIDs []types.UID `json:"objectUIDs,omitempty"`

	// conditions must hold for each write. A delegation with conditions allows create, update
	// and patch only, and only of objects that its rules allow to get.
	// +optional
	// +listType=atomic
	Conditions []DelegationCondition `json:"conditions,omitempty"`

	// ifLost tells what happens to the delegation when its delegator loses permissions. With
	// Withdraw, the default, the delegation loses them at once: it allows only what the delegator
	// may do at present. With Keep, the delegation keeps all its permissions.
	// +optional
	// +default="Withdraw"
	IfLost LossPolicy `json:"ifLost,omitempty"`

	// expirationTimestamp is when the delegation ends. It may be changed to an earlier time only.
	// +optional
	ExpirationTimestamp *metav1.Time `json:"expirationTimestamp,omitempty"`

	// idleSeconds is the time without use after which the delegation ends. It may end up to a
	// quarter of that time earlier, because not each use is recorded.
	// +optional
	IdleSeconds *int64 `json:"idleSeconds,omitempty"`
}

// Delegate is a subject that authority is delegated to.
type Delegate struct {
	// kind is User, Group or ServiceAccount.
	// +required
	Kind DelegateKind `json:"kind"`

	// namespace is the namespace of a ServiceAccount.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name is the name of the subject.
	// +required
	Name string `json:"name"`

	// uid is the UID that the user or service account must have. Empty allows any UID.
	// +optional
	UID types.UID `json:"uid,omitempty"`
}

// DelegatedRole names a role.
type DelegatedRole struct {
	// kind is Role or ClusterRole.
	// +required
	Kind string `json:"kind"`

	// name is the name of the role. A Role must be in the namespace of the scope.
	// +required
	Name string `json:"name"`
}

// DelegationScope is where authority is valid. Exactly one of its fields must be set.
type DelegationScope struct {
	// namespace is the namespace that all requests must be in.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// cluster means all namespaces, and cluster-scoped resources.
	// +optional
	Cluster bool `json:"cluster,omitempty"`
}

// DelegationCondition is a CEL expression that must be true for a write.
type DelegationCondition struct {
	// expression may use the variables object, the object to be stored; oldObject, which is null
	// for a create; and podTemplateHash and oldPodTemplateHash, which are "sha256:" and the hash
	// of their pod templates: spec.template, or spec.jobTemplate.spec.template. If an object has
	// none, an expression that uses its hash fails. If the expression fails or exceeds its cost
	// limit, the write is refused.
	// +required
	Expression string `json:"expression"`

	// message is the error message for a refused write. The default is the expression.
	// +optional
	Message string `json:"message,omitempty"`

	// apiVersions are the versions of custom resources for which the expression is written; a
	// write of a custom resource in another version is refused. Built-in kinds are always
	// converted to the preferred version of the server.
	// +optional
	// +listType=atomic
	APIVersions []string `json:"apiVersions,omitempty"`
}

// AuthorityDelegationStatus is written by the server when the delegation is created.
type AuthorityDelegationStatus struct {
	// delegator is the user who created the delegation.
	// +optional
	Delegator DelegatorIdentity `json:"delegator,omitempty"`

	// rules are the delegated rules.
	// +optional
	// +listType=atomic
	Rules []rbacv1.PolicyRule `json:"rules,omitempty"`

	// role is the role from which the rules were read.
	// +optional
	Role *SnapshotRole `json:"role,omitempty"`

	// namespaceUID is the UID of the namespace in scope. The delegation is not valid in another
	// namespace with the same name.
	// +optional
	NamespaceUID types.UID `json:"namespaceUID,omitempty"`

	// history is how the delegator got the authority, beginning with its source. It is empty if
	// the delegator delegated authority of its own.
	// +optional
	// +listType=atomic
	History []ChainEntry `json:"history,omitempty"`

	// expirationTimestamp is when the delegation ends: the earliest of its own and those of
	// the delegations in history when it was created.
	// +optional
	ExpirationTimestamp *metav1.Time `json:"expirationTimestamp,omitempty"`

	// lastUsed is the last recorded use of a delegation with idleSeconds.
	// +optional
	LastUsed *metav1.Time `json:"lastUsed,omitempty"`

	// cause is the cause of a delegation that a policy created.
	// +optional
	Cause *DelegationCause `json:"cause,omitempty"`

	// problems are why the delegation allows less than its rules say, such as conditions without
	// the verb get in the rules. The server computes them whenever the delegation is read, and stores
	// them nowhere. A watch may leave them out.
	// +optional
	// +listType=atomic
	Problems []string `json:"problems,omitempty"`
}

// DelegatorIdentity is a user as returned by authentication.
type DelegatorIdentity struct {
	// username is the name of the user.
	// +optional
	Username string `json:"username,omitempty"`

	// uid is the UID of the user, if it has one.
	// +optional
	UID string `json:"uid,omitempty"`

	// groups are the groups of the user.
	// +optional
	// +listType=atomic
	Groups []string `json:"groups,omitempty"`

	// extra are the extra attributes of the user from authentication.
	// +optional
	Extra map[string][]string `json:"extra,omitempty"`
}

// SnapshotRole identifies the version of a role whose rules were copied.
type SnapshotRole struct {
	DelegatedRole `json:",inline"`

	// namespace is the namespace of a Role.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// uid is the UID of the role.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// resourceVersion is the resourceVersion of the role when its rules were read.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// ChainVia is how authority was passed on.
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

// ChainEntry is one step in which authority was passed on. It has the same form in audit logs.
type ChainEntry struct {
	// via is Delegation, Impersonation or Token.
	// +required
	Via ChainVia `json:"via"`

	// by is the user who passed the authority on. A long name is truncated.
	// +optional
	By string `json:"by,omitempty"`

	// byUID is the UID of that user, if it has one.
	// +optional
	ByUID string `json:"byUID,omitempty"`

	// name is the name of the AuthorityDelegation, or Pod/NAME or Node/NAME of the object to
	// which a token is bound.
	// +optional
	Name string `json:"name,omitempty"`

	// uid is the UID of the object in name.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// until is the latest time at which the delegation ends.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// credential is the id of the token.
	// +optional
	Credential string `json:"credential,omitempty"`
}
