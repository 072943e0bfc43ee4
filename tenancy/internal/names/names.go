// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// Prefix is the prefix of the names of groups and users that exist only by impersonation. No
// authenticator is allowed to return a user or group with this prefix.
const Prefix = "lnamespace:"

const domain = "tenancy.kube-granular.dev/"

// Labels and annotations.
const (
	// ManagedBy is the key, and Manager the value, of the label of all objects of the controller.
	ManagedBy = "app.kubernetes.io/managed-by"
	Manager   = "tenancy-controller"
	// Tenant is a label of the objects of one tenant. Its value is the name of the tenant.
	Tenant = domain + "lnamespace"
	// SelfImpersonator is a label of the roles by which sudoers impersonate themselves.
	SelfImpersonator = domain + "self-impersonator"
	// CreatedFor is an annotation of a namespace that the controller created. Its value is the UID
	// of the LNamespace.
	CreatedFor = domain + "created-for"
	// AdoptedBy is an annotation by which an administrator hands over an existing namespace. Its
	// value is the UID of the LNamespace whose members get permissions in the namespace.
	AdoptedBy = domain + "adopted-by"
	// MadeWithSudo is a label of the objects that were created with sudo. Maker is the annotation
	// with the name of the user who created the object.
	MadeWithSudo = domain + "made-with-sudo"
	Maker        = domain + "sudo-maker"
	// ChangedWithSudo is a label of existing objects that were changed with sudo. Changers is the
	// annotation with the names of the users who changed the object, one name in each line.
	ChangedWithSudo = domain + "changed-with-sudo"
	Changers        = domain + "sudo-changers"
	// Finalizer blocks the deletion of an LNamespace until all permissions of its members are
	// revoked.
	Finalizer = domain + "revoke"
)

// Names of the ClusterRoles that all tenants share.
const (
	SudoRole          = "lnamespace-sudo"
	SudoQuotasRole    = "lnamespace-sudo-quotas"
	SudoNamespaceRole = "lnamespace-sudo-namespace"
)

// Names of the RoleBindings in the namespace of a tenant.
const (
	UsersBinding         = "lnamespace-users"
	SudoBinding          = "lnamespace-sudoers"
	SudoQuotasBinding    = "lnamespace-sudoers-quotas"
	SudoNamespaceBinding = "lnamespace-sudoers-namespace"
)

// Permissions to change single fields of an LNamespace, one for each field. The function FieldVerb
// returns the verb that grants such a permission in a role.
const (
	Users    = domain + "users"
	Managers = domain + "managers"
	Sudoers  = domain + "sudoers"
	Sudo     = domain + "sudo"
	Billing  = domain + "billing"
)

// Verbs on the LNamespace that no request uses, so they grant nothing by themselves. Each
// delegation of sudo has exactly one of them, by which an admission policy recognizes that a
// request uses sudo.
const (
	// SudoVerb is the verb if the delegate is a user or a service account.
	SudoVerb = "sudo"
	// SudoGroupVerb is the verb if the delegate is a group.
	SudoGroupVerb = "sudo-group"
)

// Delegators is a group that the controller impersonates, in addition to the sudoer group of a
// tenant, to create delegations. No user belongs to the group Delegators.
const Delegators = Prefix + "delegators"

// FieldVerb returns the verb that grants the permission to change a field.
func FieldVerb(permission string) string { return "granular:" + permission }

// SudoGroup returns the name of the sudoer group of a tenant, which has the permissions of sudo.
func SudoGroup(tenant string) string { return Prefix + tenant + "-sudoers" }

// SudoUser returns the name of a user without permissions that is impersonated together with the
// sudoer group of a tenant. If sudo works by impersonation, service accounts and members of groups
// impersonate this user, because they have no role to impersonate themselves. If sudo works by
// delegation, the controller impersonates this user to create the delegations of the tenant.
func SudoUser(tenant string) string { return SudoGroup(tenant) }

// DelegatorOf is the inverse of SudoUser: it returns the name of the tenant for a user name that
// SudoUser returns, and an empty string for other user names.
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

// Delegation returns the name of a delegation of sudo. The name contains a hash of says, the
// content of the delegation. So delegations with different content have different names.
func Delegation(tenant string, says []byte) string {
	sum := sha256.Sum256(says)
	return "lnamespace-sudo." + tenant + "." + hex.EncodeToString(sum[:16])
}

// Username returns the user name that a user or a service account has in its requests.
func Username(s v1alpha1.Subject) string {
	if s.Kind == v1alpha1.ServiceAccountKind {
		return "system:serviceaccount:" + s.Namespace + ":" + s.Name
	}
	return s.Name
}

// ImpersonatorRole returns the name of the ClusterRole, and of its binding, that let the sudoers
// of a tenant impersonate its group.
func ImpersonatorRole(tenant string) string { return Prefix + tenant + ":sudoer-impersonator" }

// SharedImpersonatorRole returns the name of the ClusterRole, and of its binding, that let the groups
// and service accounts among the sudoers of a tenant impersonate the user that SudoUser returns.
func SharedImpersonatorRole(tenant string) string {
	return Prefix + tenant + ":sudoer-shared-impersonator"
}

// EditRole returns the name of the ClusterRole, and of its binding, with the permissions of sudo
// for the LNamespace of a tenant.
func EditRole(tenant string) string { return Prefix + tenant + ":sudoer-lnamespace-edit" }

// ManagerRole returns the name of the ClusterRole, and of its binding, with the permissions of the
// managers of a tenant.
func ManagerRole(tenant string) string { return Prefix + tenant + ":manager" }

// SelfRole returns the name of the ClusterRole, and of its binding, that let a user impersonate
// itself. User names can contain characters that object names must not contain, so a hash of the
// user name makes the name unique. The part before the hash is only for human readers.
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

// Reserved reports whether a name is default, begins with kube-, or is in the list further. No
// tenant is allowed to have such a name.
func Reserved(name string, further ...string) bool {
	for _, other := range further {
		if name == other {
			return true
		}
	}
	return name == "default" || strings.HasPrefix(name, "kube-")
}

// SelfUsers returns the names of the subjects of kind User, without duplicates. If the subjects
// are sudoers, these users impersonate themselves when they use sudo by impersonation.
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
