// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// Prefix begins the names of groups and users that exist by impersonation only. No
// authenticator may give such a name to anybody.
const Prefix = "lnamespace:"

const domain = "tenancy.kube-granular.dev/"

// Labels and annotations.
const (
	// ManagedBy and Manager label everything that the controller makes.
	ManagedBy = "app.kubernetes.io/managed-by"
	Manager   = "tenancy-controller"
	// Tenant labels what belongs to one tenant with its name.
	Tenant = domain + "lnamespace"
	// SelfImpersonator labels the roles by which sudoers impersonate themselves.
	SelfImpersonator = domain + "self-impersonator"
	// CreatedFor is an annotation of a namespace: the UID of the LNamespace it was made for.
	CreatedFor = domain + "created-for"
	// AdoptedBy is an annotation of a namespace, set by an administrator: the UID of the
	// LNamespace whose people may be granted rights in it.
	AdoptedBy = domain + "adopted-by"
	// MadeWithSudo labels what was made by an impersonated sudoer group, and Maker is the
	// annotation that names the user.
	MadeWithSudo = domain + "made-with-sudo"
	Maker        = domain + "sudo-maker"
	// ChangedWithSudo labels what somebody else made and such a group changed, and Changers is
	// the annotation that names the users, a line each.
	ChangedWithSudo = domain + "changed-with-sudo"
	Changers        = domain + "sudo-changers"
	// Finalizer keeps an LNamespace until its rights are revoked.
	Finalizer = domain + "revoke"
)

// Names of objects that all tenants share.
const (
	SudoRole          = "lnamespace-sudo"
	SudoQuotasRole    = "lnamespace-sudo-quotas"
	SudoNamespaceRole = "lnamespace-sudo-namespace"
)

// Names of bindings in the namespace of a tenant.
const (
	UsersBinding         = "lnamespace-users"
	SudoBinding          = "lnamespace-sudoers"
	SudoQuotasBinding    = "lnamespace-sudoers-quotas"
	SudoNamespaceBinding = "lnamespace-sudoers-namespace"
)

// Permissions of the fields of an LNamespace. A verb in a role is FieldVerb of one.
const (
	Users    = domain + "users"
	Managers = domain + "managers"
	Sudoers  = domain + "sudoers"
	Sudo     = domain + "sudo"
	Billing  = domain + "billing"
)

// Verbs on the LNamespace that mean nothing but that somebody acts by a delegation of sudo: each
// such delegation has exactly one of them. The admission policies ask.
const (
	SudoVerb = "sudo"
	// SudoGroupVerb is the verb where the delegate is a group.
	SudoGroupVerb = "sudo-group"
)

// Delegators is the group as which the controller may create delegations. Nobody else is of it.
const Delegators = Prefix + "delegators"

// FieldVerb returns the verb that a permission of a field is granted by.
func FieldVerb(permission string) string { return "granular:" + permission }

// SudoGroup returns the group that the sudoers of a tenant impersonate.
func SudoGroup(tenant string) string { return Prefix + tenant + "-sudoers" }

// SudoUser returns the user that sudoers impersonate who have no role to impersonate
// themselves: members of groups and service accounts. It holds no rights of its own.
func SudoUser(tenant string) string { return SudoGroup(tenant) }

// DelegatorOf returns the tenant whose sudo a user delegates, or nothing.
func DelegatorOf(user string) string {
	tenant, ok := strings.CutPrefix(user, Prefix)
	if !ok {
		return ""
	}
	tenant, ok = strings.CutSuffix(tenant, "-sudoers")
	if !ok {
		return ""
	}
	return tenant
}

// Delegation returns the name of a delegation of sudo. It is made of all that the delegation
// says, so another one has another name.
func Delegation(tenant string, says []byte) string {
	sum := sha256.Sum256(says)
	return "lnamespace-sudo." + tenant + "." + hex.EncodeToString(sum[:16])
}

// Username returns the name by which the server knows a user or a service account.
func Username(s v1alpha1.Subject) string {
	if s.Kind == v1alpha1.ServiceAccountKind {
		return "system:serviceaccount:" + s.Namespace + ":" + s.Name
	}
	return s.Name
}

// ImpersonatorRole returns the name of the ClusterRole, and of its binding, by which the
// sudoers of a tenant impersonate its group.
func ImpersonatorRole(tenant string) string { return Prefix + tenant + ":sudoer-impersonator" }

// EditRole returns the name of the ClusterRole, and of its binding, by which sudo edits
// the LNamespace.
func EditRole(tenant string) string { return Prefix + tenant + ":sudoer-lnamespace-edit" }

// ManagerRole returns the name of the ClusterRole, and of its binding, of managers.
func ManagerRole(tenant string) string { return Prefix + tenant + ":manager" }

// SelfRole returns the name of the ClusterRole, and of its binding, by which a user
// impersonates itself. Names of users hold what names of objects must not, so a hash
// tells them apart; what stands before it is for readers.
func SelfRole(user string) string {
	sum := sha256.Sum256([]byte(user))
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '@' {
			return r
		}
		return '-'
	}, strings.ToLower(user))
	return "lnamespace-self:" + readable[:min(len(readable), 40)] + ":" + hex.EncodeToString(sum[:16])
}

// Reserved reports whether no tenant may have the name.
func Reserved(name string, further ...string) bool {
	for _, other := range further {
		if name == other {
			return true
		}
	}
	return name == "default" || strings.HasPrefix(name, "kube-")
}

// SelfUsers returns the users among subjects, each once: those who impersonate themselves.
func SelfUsers(subjects []v1alpha1.Subject) []string {
	var users []string
	seen := map[string]bool{}
	for _, s := range subjects {
		if (s.Kind == "" || s.Kind == v1alpha1.UserKind) && !seen[s.Name] {
			seen[s.Name] = true
			users = append(users, s.Name)
		}
	}
	return users
}
