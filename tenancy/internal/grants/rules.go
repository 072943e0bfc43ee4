// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package grants

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// managerRules returns the rules that let the managers of a tenant change its LNamespace, except
// spec.sudo. They may remove sudoers and not add any.
//
// If the API server authorizes single fields, it asks who may touch a sudoer of the list. It does not
// tell a removal from an addition. An admission policy does, and asks for the verb without a kind.
func managerRules(t *v1alpha1.LNamespace, o Options) []rbacv1.PolicyRule {
	var verbs []string
	if o.FieldPermissions {
		for _, kind := range []v1alpha1.SubjectKind{v1alpha1.UserKind, v1alpha1.GroupKind, v1alpha1.ServiceAccountKind} {
			verbs = append(verbs, names.KindVerb(names.SudoersRemoval, kind))
		}
	}
	return ownObjectRules(t, o, verbs, names.Users, names.Managers, names.SudoersRemoval, names.Billing)
}

// editRules returns the rules that say what sudoers may do with their tenant's LNamespace when
// they use sudo.
func editRules(t *v1alpha1.LNamespace, o Options) []rbacv1.PolicyRule {
	permissions := []string{names.Billing}
	if slices.Contains(t.Spec.Sudo.Allow, v1alpha1.AllowLists) {
		permissions = append(permissions, names.Users, names.Managers, names.Sudoers, names.Sudo)
	}
	var verbs []string
	if slices.Contains(t.Spec.Sudo.Allow, v1alpha1.AllowDelete) {
		verbs = append(verbs, "delete")
	}
	if o.Sudo == Delegation {
		verbs = append(verbs, names.SudoVerb, names.SudoGroupVerb)
	}
	return ownObjectRules(t, o, verbs, permissions...)
}

// ownObjectRules returns one rule for the LNamespace of the tenant. The rule has the given verbs,
// the verbs to read and to write the object, and for each of permissions the verb to change this
// field. If the API server authorizes single fields, it checks the verbs of fields. If not, an
// admission policy checks them.
func ownObjectRules(t *v1alpha1.LNamespace, o Options, verbs []string, permissions ...string) []rbacv1.PolicyRule {
	verbs = append([]string{"get"}, verbs...)
	if o.FieldPermissions {
		verbs = append(verbs, "granular", "granular:labels", "granular:annotations")
	} else {
		verbs = append(verbs, "update", "patch")
	}
	for _, p := range permissions {
		verbs = append(verbs, names.FieldVerb(p))
	}
	return []rbacv1.PolicyRule{{
		APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"lnamespaces"},
		ResourceNames: []string{t.Name}, Verbs: verbs,
	}}
}

// impersonatorRules returns the rules that let sudoers impersonate the sudoer group of the tenant,
// and add the reason for using sudo to their requests. A request that impersonates a group must
// impersonate a user too, which other rules allow.
func impersonatorRules(t *v1alpha1.LNamespace) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		impersonate("", "groups", names.SudoGroup(t.Name)),
		impersonate("authentication.k8s.io", "userextras/"+ReasonExtra),
	}
}

// sharedImpersonatorRules returns the rules that let groups and service accounts among the sudoers
// impersonate the user that names.SudoUser returns. The other sudoers impersonate a user of their
// own, and must not be able to act under a name that stays when they leave.
func sharedImpersonatorRules(t *v1alpha1.LNamespace) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{impersonate("", "users", names.SudoUser(t.Name))}
}

func impersonate(group, resource string, only ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: only, Verbs: []string{"impersonate"}}
}

// ReasonExtra is a key in the extra information of the impersonated user. The value is the reason
// that the sudoer gives for using sudo, so that the reason is in the audit log.
const ReasonExtra = "sudo-reason"
