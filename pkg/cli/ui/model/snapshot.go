// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package model

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
	// Tenants are the LNamespaces, sorted by name. Without About.Tenants, the cluster has no such kind.
	Tenants []Tenant `json:"tenants,omitempty"`
}

// None is the index of nothing, such as the namespace of a ClusterRoleBinding.
const None = -1

// About is where a snapshot comes from.
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
	// Tenants is true if the cluster has the kind LNamespace.
	Tenants bool `json:"tenants,omitempty"`
	// Masters is the index of the subject of the group system:masters, which may do everything without a
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
	UnknownFieldPermissions    = "fieldpermissions"
	UnknownDenials             = "denials"
	UnknownTenants             = "lnamespaces"
	UnknownSudoRequests        = "sudorequests"
)

// Unknown is something that could not be read.
type Unknown struct {
	// What is one of the constants above.
	What string `json:"what"`
	// Of is the resource if What is UnknownKind, such as widgets.example.com, or the one object that could
	// not be read.
	Of string `json:"of,omitempty"`
	// Except are the namespaces in which What is known although it is not known elsewhere.
	Except []string `json:"except,omitempty"`
	// Why is the reason, such as the server's message.
	Why string `json:"why"`
}
