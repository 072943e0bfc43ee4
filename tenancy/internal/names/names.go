// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// Prefix is the prefix of the names of groups and users that exist only by impersonation. No
// authenticator is allowed to return a user or group with this prefix.
const Prefix = "lnamespace:"

// Domain is the prefix of the keys of labels and annotations, of the names of permissions and of finalizers.
const Domain = "tenancy.kube-granular.dev/"

// Labels and annotations.
const (
	// ManagedBy is the key, and Manager the value, of the label of all objects of the controller.
	ManagedBy = "app.kubernetes.io/managed-by"
	Manager   = "tenancy-controller"
	// Tenant is a label of the objects of one tenant. Its value is the name of the tenant.
	Tenant = Domain + "lnamespace"
	// SelfImpersonator is a label of the roles by which sudoers impersonated themselves in an earlier
	// version. The controller deletes such roles.
	SelfImpersonator = Domain + "self-impersonator"
	// CreatedFor is an annotation of a namespace that the controller created. Its value is the UID
	// of the LNamespace.
	CreatedFor = Domain + "created-for"
	// AdoptedBy is an annotation by which an administrator hands over an existing namespace. Its
	// value is the UID of the LNamespace whose members get permissions in the namespace.
	AdoptedBy = Domain + "adopted-by"
	// Retained is a label of a namespace that stayed when its LNamespace was deleted.
	Retained = Domain + "retained"
	// MadeWithSudo is a label of the objects that were created with sudo, and of the Roles and
	// RoleBindings that somebody created with rights inside the namespace, because these rights come
	// from sudo in the end. Maker is the annotation with the name of the user who created the object.
	MadeWithSudo = Domain + "made-with-sudo"
	Maker        = Domain + "sudo-maker"
	// ChangedWithSudo is a label of existing objects that were changed with sudo. Changers is the
	// annotation with the names of the users who changed the object, one name in each line.
	ChangedWithSudo = Domain + "changed-with-sudo"
	Changers        = Domain + "sudo-changers"
	// MadeFromOutside is a label of the Roles and RoleBindings that somebody created whose right to do
	// so comes from outside the tenant, such as an administrator. An administrator also sets it on an
	// object that may stay.
	MadeFromOutside = Domain + "made-from-outside"
	// Creator is an annotation of an LNamespace with the name of the person who created it. Allowed
	// is an annotation by which an administrator allows an LNamespace, in a new one or later: the rules
	// for names and the number of LNamespaces for each creator do not matter to it. An LNamespace that an
	// administrator creates without it is not allowed.
	Creator = Domain + "creator"
	Allowed = Domain + "allowed"
	// BillingChanges is an annotation of an LNamespace with the changes of spec.billing that are not in
	// status.billing yet. An admission policy writes it, and nobody else can.
	BillingChanges = Domain + "billing-changes"
	// ClosedToSudo is an annotation of the ClusterRole of sudo: the fields that FieldPermissions keep from
	// sudoers, one in each line.
	ClosedToSudo = Domain + "closed-to-sudo"
	// Finalizer blocks the deletion of an LNamespace until all permissions of its members are
	// revoked.
	Finalizer = Domain + "revoke"
)

// Definition is the name of the CustomResourceDefinition of LNamespaces.
const Definition = "lnamespaces.tenancy.kube-granular.dev"

// Names of the ClusterRoles that all tenants share.
const (
	SudoRole          = "lnamespace-sudo"
	SudoQuotasRole    = "lnamespace-sudo-quotas"
	SudoNamespaceRole = "lnamespace-sudo-namespace"
	// RequestRole lets sudoers request sudo and approve requests, and ApproveRole lets managers approve
	// them. Both are in the manifests.
	RequestRole = "lnamespace-sudo-request"
	ApproveRole = "lnamespace-sudo-approve"
)

// Names of the RoleBindings in the namespace of a tenant.
const (
	UsersBinding         = "lnamespace-users"
	SudoBinding          = "lnamespace-sudoers"
	SudoQuotasBinding    = "lnamespace-sudoers-quotas"
	SudoNamespaceBinding = "lnamespace-sudoers-namespace"
	RequestBinding       = "lnamespace-sudo-requesters"
	ApproveBinding       = "lnamespace-sudo-approvers"
)

// Permissions to change single fields of an LNamespace, one for each field. The function FieldVerb
// returns the verb that grants such a permission in a role.
const (
	Users    = Domain + "users"
	Managers = Domain + "managers"
	Sudoers  = Domain + "sudoers"
	// SudoersRemoval is enough to remove names from the list of sudoers. An admission policy asks for
	// it, and a server that authorizes single fields asks for it with the kind; see KindVerb.
	SudoersRemoval = Domain + "sudoersRemoval"
	Sudo           = Domain + "sudo"
	Billing        = Domain + "billing"
	// DeletionPolicy is needed to set spec.deletionPolicy, even in a new LNamespace.
	DeletionPolicy = Domain + "deletionPolicy"
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

// KindVerb returns the verb that grants the permission to change the subjects of one kind in a list.
func KindVerb(permission string, kind v1alpha1.SubjectKind) string {
	return FieldVerb(permission) + "(" + string(kind) + ")"
}

// SudoGroup returns the name of the sudoer group of a tenant, which has the permissions of sudo.
func SudoGroup(tenant string) string { return Prefix + tenant + "-sudoers" }

// SudoUser returns the name of a user without permissions that is impersonated together with the
// sudoer group of a tenant. If sudo works by impersonation, service accounts and members of groups
// impersonate this user, because no role can name each of them. If sudo works by delegation, the controller impersonates this user to create the delegations of the tenant.
func SudoUser(tenant string) string { return SudoGroup(tenant) }

// DelegatorOf is the inverse of SudoUser: it returns the name of the tenant for a user name that
// SudoUser returns, and an empty string for other user names.
func DelegatorOf(user string) string {
	tenant, ok := strings.CutPrefix(user, Prefix)
	if !ok {
		return ""
	}
	tenant, ok = strings.CutSuffix(tenant, "-sudoers")
	if !ok || strings.Contains(tenant, ":") { // the user of one sudoer
		return ""
	}
	return tenant
}

// TenantOfSudo returns the name of the tenant whose sudo gives a user or a group of this name, and an empty string for
// other names.
func TenantOfSudo(name string) string {
	if tenant := DelegatorOf(name); tenant != "" {
		return tenant
	}
	return TenantOfRole(name) // the names of single sudoers begin as those of roles do
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

// Person returns the name of the person behind a user name: for a user that exists only for sudo by
// impersonation, the user who impersonates it, and else the name itself.
func Person(username string) string {
	rest, ok := strings.CutPrefix(username, Prefix)
	if !ok {
		return username
	}
	if _, person, ok := strings.Cut(rest, ":"); ok {
		return person
	}
	return username
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

// SudoerUser returns the name of the user that a sudoer of kind User impersonates to use sudo. The
// user exists for nothing else: it is in no list, and nobody binds it to a role. The name of the
// tenant has no colon, so the name of the user tells both.
func SudoerUser(tenant, user string) string { return Prefix + tenant + ":" + user }

// SudoerRole returns the name of the ClusterRole, and of its binding, that let a user impersonate the
// sudoer group of a tenant, together with the user that SudoerUser returns. User names can contain
// characters that object names must not contain, so a hash of the user name makes the name unique.
// The part before the hash is only for human readers.
func SudoerRole(tenant, user string) string {
	sum := sha256.Sum256([]byte(user))
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '@' {
			return r
		}
		return '-'
	}, strings.ToLower(user))
	return sudoerRoles(tenant) + readable[:min(len(readable), 40)] + ":" + hex.EncodeToString(sum[:16])
}

// TenantOfRole returns the name of the tenant that a ClusterRole or its binding belongs to by its name,
// or an empty string.
func TenantOfRole(name string) string {
	rest, ok := strings.CutPrefix(name, Prefix)
	if !ok {
		return ""
	}
	tenant, _, ok := strings.Cut(rest, ":")
	if !ok {
		return ""
	}
	return tenant
}

// IsSudoerRole reports whether the name is one that SudoerRole returns for the tenant.
func IsSudoerRole(tenant, name string) bool { return strings.HasPrefix(name, sudoerRoles(tenant)) }

func sudoerRoles(tenant string) string { return Prefix + tenant + ":sudoer:" }

// Reserved reports whether a name is default, begins with kube-, or is in the list further. No
// tenant is allowed to have such a name.
func Reserved(name string, further ...string) bool {
	return slices.Contains(further, name) || name == "default" || strings.HasPrefix(name, "kube-")
}

// UsersOf returns the names of the subjects of kind User, without duplicates.
func UsersOf(subjects []v1alpha1.Subject) []string {
	var users []string
	seen := map[string]bool{}
	for _, s := range subjects {
		if s.Bare().Kind == v1alpha1.UserKind && !seen[s.Name] {
			seen[s.Name] = true
			users = append(users, s.Name)
		}
	}
	return users
}
