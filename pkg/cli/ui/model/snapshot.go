// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import rbacv1 "k8s.io/api/rbac/v1"

// Version is the version of the format. A page refuses a snapshot of another version.
const Version = 1

// Snapshot is all that the page shows. Numbers that name something are indexes of its tables: a Verb is an
// index of Verbs, a Kind of Kinds and so on.
type Snapshot struct {
	Version int   `json:"version"`
	About   About `json:"about"`
	// Unknown is what could not be read. An answer that depends on it is "unknown", never "no".
	Unknown []Unknown `json:"unknown"`
	// Namespaces are the names of all namespaces that are known, sorted.
	Namespaces []string `json:"namespaces"`
	// Verbs are permission verbs as a role grants them. In place of a parameter they have a description
	// in angle brackets: granular:label(<label-key prefix>).
	Verbs []Verb `json:"verbs"`
	// Texts are descriptions of fields. Long ones are cut.
	Texts []string `json:"texts"`
	// Fields are the fields of all kinds. Equal trees share their fields, so a field does not know its path.
	Fields []Field `json:"fields"`
	Kinds  []Kind  `json:"kinds"`
	// Subjects are all subjects of bindings and delegations, and the groups that they belong to.
	Subjects []Subject `json:"subjects"`
	// Rules are the distinct lists of rules of roles and delegations.
	Rules []Rules `json:"rules"`
	// Cells are the distinct answers to what a list of rules holds on a kind.
	Cells []Cell `json:"cells"`
	Roles []Role `json:"roles"`
	// Names are the names of bindings.
	Names       []string     `json:"names"`
	Bindings    []Binding    `json:"bindings"`
	Delegations []Delegation `json:"delegations"`
	Protected   []Protected  `json:"protected"`
	Denials     []Denial     `json:"denials"`
}

// None is the index of nothing, such as the namespace of a ClusterRoleBinding.
const None = -1

// About says where a snapshot comes from.
type About struct {
	// Cluster is the address of the server, or the names of the files.
	Cluster string `json:"cluster"`
	// Context is the context of the kubeconfig, "" for files.
	Context string `json:"context,omitempty"`
	// Namespace is the namespace that the page shows first, "" for all.
	Namespace string `json:"namespace,omitempty"`
	// User and Groups are whose rights read the cluster. They are empty for files.
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Collected is the time in RFC 3339.
	Collected string `json:"collected"`
	// Live is true if the snapshot was read from a cluster, false for files.
	Live bool `json:"live"`
	// Denials is the source of Denials: the name of the audit log. It is empty if none was given, and
	// then an empty list of Denials means nothing.
	Denials string `json:"denials,omitempty"`
	// Subject is the index of the subject of the group system:masters, which may do everything without a
	// binding.
	Masters int `json:"masters"`
	// Authenticated is the index of the subject of the group system:authenticated, to which every user
	// belongs, or None. Accounts is that of system:serviceaccounts.
	Authenticated int `json:"authenticated"`
	Accounts      int `json:"accounts"`
}

// The values of Unknown.What.
const (
	UnknownKinds               = "kinds"
	UnknownKind                = "kind"
	UnknownNamespaces          = "namespaces"
	UnknownClusterRoles        = "clusterroles"
	UnknownRoles               = "roles"
	UnknownClusterRoleBindings = "clusterrolebindings"
	UnknownRoleBindings        = "rolebindings"
	UnknownDelegations         = "authoritydelegations"
	UnknownProtected           = "protectedattributes"
	UnknownDenials             = "denials"
)

// Unknown is something that could not be read.
type Unknown struct {
	// What is one of the constants above.
	What string `json:"what"`
	// Of is the resource if What is UnknownKind, such as widgets.example.com.
	Of string `json:"of,omitempty"`
	// Except are the namespaces in which What is known although it is not known elsewhere.
	Except []string `json:"except,omitempty"`
	// Why is the reason, such as the server's message.
	Why string `json:"why"`
}

// Verb is a permission verb.
type Verb struct {
	// Verb is the verb as in a role: granular:replicas, granular:label(<label-key prefix>).
	Verb string `json:"v"`
	// Parameter is what the parameter stands for, such as "label-key prefix". It is empty if the verb
	// takes none. Then Verb can stand in a role as it is. Otherwise a role has Stem, "(", the parameter, ")".
	Parameter string `json:"p,omitempty"`
	Stem      string `json:"s,omitempty"`
	// Excluded is true if update and patch do not include the permission.
	Excluded bool `json:"x,omitempty"`
}

// Field is a field of a kind, or [*] for the elements of a map or a list.
type Field struct {
	Name string `json:"n"`
	Type string `json:"t,omitempty"`
	// Text is an index of Texts: the description, or 0 for none. Texts[0] is empty.
	Text int `json:"d,omitempty"`
	// Own are the verbs that are declared at the field, most general first.
	Own []int `json:"o,omitempty"`
	// Cover are all verbs of which one allows a change of the field, most general first, so the last
	// one is the least. If it is empty, no permission allows a change: only update does.
	Cover []int `json:"c,omitempty"`
	// Excluded is true if update and patch do not include the field: a holder of update needs a verb of
	// Cover too.
	Excluded bool `json:"x,omitempty"`
	// Scope is the prefix of all permissions below, such as podTemplate, if one begins here.
	Scope string `json:"s,omitempty"`
	// System is true if only the server writes the field. Nobody else needs a permission.
	System bool `json:"y,omitempty"`
	// Fields are the fields below that have permissions of their own or have such fields below.
	Fields []int `json:"f,omitempty"`
	// Rest are the names of the other fields below. They, and all that is below them, are covered by
	// Cover of this field.
	Rest []string `json:"r,omitempty"`
}

// Kind is a resource with the kind of its objects.
type Kind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Resource is the plural name, such as deployments.
	Resource   string   `json:"resource"`
	ShortNames []string `json:"shortNames,omitempty"`
	Namespaced bool     `json:"namespaced,omitempty"`
	// Root is the field of the whole object.
	Root int `json:"root"`
	// Parts are the resource itself and its subresources. The first is the resource itself.
	Parts []Part `json:"parts"`
	// Through has, for the first name of a path, such as status, the Parts through which the field is
	// changed. A name that is not there is changed through Parts[0].
	Through map[string][]int `json:"through,omitempty"`
	// Excluded is true if a field of the kind is excluded.
	Excluded bool `json:"excluded,omitempty"`
	// Protected are the protected attributes that apply to objects of the kind.
	Protected []int `json:"protected,omitempty"`
	// Delegations are the delegations whose rules change fields of the kind.
	Delegations []int `json:"delegations,omitempty"`
	// Rank says how much harm a change can do, for "worst first": 3 if a field is excluded or protected,
	// 2 for secrets and for roles, bindings and admission, 0 for others.
	Rank int `json:"rank,omitempty"`
}

// Part is a resource or a subresource through which fields are changed.
type Part struct {
	// Name is "" for the resource itself, or status, scale.
	Name string `json:"name,omitempty"`
	// Kind is the kind of the objects of the subresource, if that is another one, such as Scale.
	Kind string `json:"kind,omitempty"`
	// Fields are the fields of Kind with verbs. A field of the resource with the same path can be changed
	// through this part as well, with the verbs here.
	Fields []PartField `json:"fields,omitempty"`
}

// PartField is a field of a subresource with objects of another kind.
type PartField struct {
	Path     string `json:"path"`
	Cover    []int  `json:"c"`
	Excluded bool   `json:"x,omitempty"`
}

// Subject is a user, a group or a service account.
type Subject struct {
	// Kind is User, Group or ServiceAccount.
	Kind      string `json:"k"`
	Namespace string `json:"s,omitempty"`
	Name      string `json:"n"`
	// Groups are the groups that the subject is certainly in, of those that have a binding. Which other
	// groups a user is in, nobody can read from a cluster.
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

// Denial is a refused request, or several equal ones.
type Denial struct {
	// Key identifies equal refusals, so that a page can hide one and find it again.
	Key string `json:"key"`
	// Time is that of the last request, in RFC 3339, "" if it is not known.
	Time  string `json:"time,omitempty"`
	Count int    `json:"count"`
	// AuditID is that of the last request.
	AuditID string `json:"auditID,omitempty"`
	User    string `json:"user"`
	// Subject is the index of User, or None if no binding names it.
	Subject int `json:"subject"`
	// Groups are the groups of the user, if the audit log has them.
	Groups []string `json:"groups,omitempty"`
	// Verb is the verb of the request, such as patch, "" if it is not known.
	Verb string `json:"verb,omitempty"`
	// Kind is an index of Kinds, or None if the kind is not known.
	Kind int `json:"kind"`
	// Resource is formatted as deployments.apps/scale.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Field is the path of the field, "" if the whole request was refused.
	Field string `json:"field,omitempty"`
	// Missing are the verbs of which one was missing, least first. If Together has verbs, these are needed
	// together instead of the first.
	Missing  []string `json:"missing,omitempty"`
	Together []string `json:"together,omitempty"`
	// Message is what the server said, if it is known.
	Message string `json:"message,omitempty"`
	// Advice is a text on what to do if no role with a single verb helps. Then Remedy is nil.
	Advice string  `json:"advice,omitempty"`
	Remedy *Remedy `json:"remedy,omitempty"`
}

// Remedy is the least role that lifts a refusal or grants a wish. Nothing is applied by the page.
type Remedy struct {
	// Name is the name of the role and of its binding.
	Name string `json:"name"`
	// YAML are the role and the binding.
	YAML string `json:"yaml"`
	// Commands create the same by kubectl.
	Commands []string `json:"commands"`
	// Test is a role test as YAML, for kube-granular test. It is empty if none can be made.
	Test string `json:"test,omitempty"`
	// Allows are the paths of all fields that the role lets change, including what was not asked for.
	Allows []string `json:"allows,omitempty"`
	// Beyond says what the role allows besides the wish, one sentence each.
	Beyond []string `json:"beyond,omitempty"`
}
