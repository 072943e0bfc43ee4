// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import rbacv1 "k8s.io/api/rbac/v1"

// Subject is a user, a group or a service account.
type Subject struct {
	// Kind is User, Group or ServiceAccount.
	Kind      string `json:"k"`
	Namespace string `json:"s,omitempty"`
	Name      string `json:"n"`
	// Groups are the groups that the subject, or each member of the group, is certainly in, of those that
	// have a binding. Which other groups a user is in, nobody can read from a cluster.
	Groups []int `json:"g,omitempty"`
}

// Rules is a list of rules and what they hold.
type Rules struct {
	Rules []rbacv1.PolicyRule `json:"rules"`
	// Cells are pairs: a kind, and its cell. A kind that is not there has nothing of these rules.
	Cells []int `json:"cells,omitempty"`
	// Powers are rights by which a holder can get more rights: "escalate", "bind", "impersonate". A
	// subject with one has to be shown apart.
	Powers []string `json:"powers,omitempty"`
	// Metadata are the resources, such as deployments.apps, whose objects a holder reads without data, by the
	// verb readmetadata. Those of the verb * are not among them.
	Metadata []string `json:"metadata,omitempty"`
	// Bypass is true if a holder in the whole cluster is exempt from protected labels and annotations.
	Bypass bool `json:"bypass,omitempty"`
}

// Cell is what a list of rules holds on a kind, for each part of the kind on which it holds something.
type Cell []Held

// The degrees to which a right is held.
const (
	// No: not held.
	No = 0
	// ByName: held only for the objects that Names has.
	ByName = 1
	// Yes: held for every object.
	Yes = 2
)

// Held is what is held on one part of a kind.
//
// A field of the part may be changed by a subject if, over all its bindings that count in the namespace:
// Update is Yes and the field is not excluded; or Update or Granular is Yes and one verb of the field's Cover
// is held. With ByName instead of Yes, or with a verb that is held only for Parameters, the answer is "some".
type Held struct {
	Part int `json:"p,omitempty"`
	// Update is held if update or patch is.
	Update int `json:"u,omitempty"`
	// Granular is held if the verb granular is.
	Granular int `json:"g,omitempty"`
	// All is held if all permission verbs are, by the verb *.
	All int `json:"a,omitempty"`
	// Verbs are those permission verbs of the kind that are held for every object and every parameter.
	Verbs []int `json:"v,omitempty"`
	// Some are those permission verbs of the kind that are held only for some objects or some parameters.
	// Which, Names and the rules say.
	Some []int `json:"s,omitempty"`
	// Protected are the protected attributes whose verb is held.
	Protected []int `json:"x,omitempty"`
	// Names are the resource names, if anything above is held by name. They are at most MaxNames.
	Names []string `json:"n,omitempty"`
	// Rules are the indexes of the rules that matter, within the list.
	Rules []int `json:"r"`
}

// MaxNames is the maximum number of names of a Held.
const MaxNames = 20

// The values of Role.State.
const (
	// Missing: bindings refer to a role that does not exist. They grant nothing.
	Missing = "missing"
	// NotRead: the role could not be read, so what it grants is unknown.
	NotRead = "unknown"
)

// Role is a Role or a ClusterRole.
type Role struct {
	// Namespace is an index of Namespaces, or None for a ClusterRole.
	Namespace int    `json:"s"`
	Name      string `json:"n"`
	// Rules is an index of Snapshot.Rules, or None if State is set.
	Rules int    `json:"r"`
	State string `json:"state,omitempty"`
}

// Binding is a binding as an array: its name (an index of Names), its namespace (an index of Namespaces, or
// None for a ClusterRoleBinding), its role, and then its subjects.
type Binding []int

// Delegation is a delegation that is in force. Its delegates hold its rules in requests that select it, as far
// as its delegator holds them.
type Delegation struct {
	Name      string `json:"name"`
	Delegator string `json:"delegator"`
	// Namespace is an index of Namespaces, or None for the whole cluster.
	Namespace   int    `json:"namespace"`
	Rules       int    `json:"rules"`
	Delegates   []int  `json:"delegates"`
	Conditional bool   `json:"conditional,omitempty"`
	Expires     string `json:"expires,omitempty"`
}

// Protected is a protected label or annotation.
type Protected struct {
	Name string `json:"name"`
	// Namespace is an index of Namespaces, or None if it is protected in the whole cluster.
	Namespace int `json:"namespace"`
	// Field is labels or annotations.
	Field string `json:"field"`
	// Key is the key, or example.com/* for all keys of a domain.
	Key string `json:"key"`
	// Values are the values that are protected. If it is empty, all are.
	Values []string `json:"values,omitempty"`
	Mode   string   `json:"mode,omitempty"`
	// Verb is the verb that a caller needs, if Role is None. Held.Protected says who holds it.
	Verb string `json:"verb,omitempty"`
	// Role is the role of which a caller must be a subject, or None. Only ClusterRoleBindings count if
	// Namespace is None, and otherwise also RoleBindings in Namespace.
	Role int `json:"role"`
	// RoleText names the role, also if it does not exist: ClusterRole "keepers".
	RoleText string `json:"roleText,omitempty"`
}
