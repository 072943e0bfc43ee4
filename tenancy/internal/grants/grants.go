// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package grants

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// Options are the options for all tenants.
type Options struct {
	// UserRole is the ClusterRole that users of a tenant are bound to in its namespace.
	UserRole string
	// FieldPermissions is true if the API server authorizes single fields. Then members that may
	// change some fields of an LNamespace get the verb granular instead of update and patch.
	FieldPermissions bool
	// Sudo is the way in which sudoers get the permissions of sudo.
	Sudo SudoMode
}

// SudoMode is the way in which sudoers get the permissions of the sudoer group of their tenant.
type SudoMode string

// The modes of sudo.
const (
	// Impersonation lets sudoers impersonate the sudoer group of their tenant. It is the default.
	Impersonation SudoMode = "Impersonation"
	// Delegation delegates the permissions of the sudoer group to each sudoer by an
	// AuthorityDelegation. It needs a server that serves AuthorityDelegations.
	Delegation SudoMode = "Delegation"
)

// For returns the RBAC objects that a tenant must have, and the RBAC objects that it could have in
// other cases, but must not have now. The unwanted objects have only a name and a namespace, which
// is enough to delete them.
func For(t *v1alpha1.LNamespace, o Options) (wanted, unwanted []client.Object) {
	add := func(want bool, objects ...client.Object) {
		if want {
			wanted = append(wanted, objects...)
			return
		}
		for _, object := range objects {
			unwanted = append(unwanted, nameOnly(object))
		}
	}
	acting := Acting(t)
	users, managers, sudoers := Subjects(t.Spec.Users), Subjects(t.Spec.Managers), Subjects(acting)
	group := []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: names.SudoGroup(t.Name)}}
	sudo := len(sudoers) > 0
	allowed := func(a v1alpha1.SudoAllowance) bool { return sudo && slices.Contains(t.Spec.Sudo.Allow, a) }

	add(len(users) > 0, roleBinding(t, names.UsersBinding, o.UserRole, users))
	add(len(managers) > 0, clusterRole(t, names.ManagerRole(t.Name), managerRules(t, o)),
		clusterRoleBinding(t, names.ManagerRole(t.Name), managers))
	add(sudo, roleBinding(t, names.SudoBinding, names.SudoRole, group))
	add(allowed(v1alpha1.AllowQuotas), roleBinding(t, names.SudoQuotasBinding, names.SudoQuotasRole, group))
	add(allowed(v1alpha1.AllowNamespace), roleBinding(t, names.SudoNamespaceBinding, names.SudoNamespaceRole, group))
	add(sudo, clusterRole(t, names.EditRole(t.Name), editRules(t, o)),
		clusterRoleBinding(t, names.EditRole(t.Name), group))
	impersonation := o.Sudo != Delegation
	present := names.UsersOf(acting)
	for _, user := range present {
		add(impersonation, sudoerObjects(t, user)...)
	}
	for _, user := range names.UsersOf(t.Status.Granted.Sudoers) {
		if !slices.Contains(present, user) {
			add(false, sudoerObjects(t, user)...)
		}
	}
	shared := slices.DeleteFunc(slices.Clone(sudoers), func(s rbacv1.Subject) bool { return s.Kind == rbacv1.UserKind })
	add(len(shared) > 0 && impersonation, clusterRole(t, names.ImpersonatorRole(t.Name), impersonatorRules(t)),
		clusterRoleBinding(t, names.ImpersonatorRole(t.Name), shared))
	add(len(shared) > 0 && impersonation, clusterRole(t, names.SharedImpersonatorRole(t.Name), sharedImpersonatorRules(t)),
		clusterRoleBinding(t, names.SharedImpersonatorRole(t.Name), shared))
	listed := Subjects(t.Spec.Sudoers)
	add(t.Spec.Sudo.IsOnRequest() && len(listed) > 0, roleBinding(t, names.RequestBinding, names.RequestRole, listed))
	add(t.Spec.Sudo.IsOnRequest() && len(managers) > 0, roleBinding(t, names.ApproveBinding, names.ApproveRole, managers))
	return wanted, unwanted
}

// Acting returns the subjects who have sudo: the sudoers of the list, or those whose request is granted
// if sudoers have sudo only by a request. The status says whose request is granted.
func Acting(t *v1alpha1.LNamespace) []v1alpha1.Subject {
	if !t.Spec.Sudo.IsOnRequest() {
		return t.Spec.Sudoers
	}
	var acting []v1alpha1.Subject
	for _, granted := range t.Status.Sudo {
		acting = append(acting, granted.Subject)
	}
	return acting
}

// All returns all RBAC objects that a tenant can have. They have only a name and a namespace. sudoers
// are the subjects that are or were sudoers: each User among them can have a role of its own.
func All(tenant string, sudoers ...v1alpha1.Subject) []client.Object {
	t := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}
	t.Status.Granted.Sudoers = sudoers
	_, all := For(t, Options{})
	return all
}

// sudoerObjects returns the ClusterRole and its binding that let one sudoer of kind User use sudo by
// impersonation. No two sudoers share a role, so nobody can act under the name of another.
func sudoerObjects(t *v1alpha1.LNamespace, user string) []client.Object {
	name := names.SudoerRole(t.Name, user)
	rules := append([]rbacv1.PolicyRule{impersonate("", "users", names.SudoerUser(t.Name, user))}, impersonatorRules(t)...)
	return []client.Object{clusterRole(t, name, rules),
		clusterRoleBinding(t, name, []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}})}
}

// Subjects returns the RBAC subjects for a list of members, in the same order, without duplicates.
func Subjects(list []v1alpha1.Subject) []rbacv1.Subject {
	var subjects []rbacv1.Subject
	for _, s := range list {
		subject := rbacv1.Subject{Kind: string(s.Bare().Kind), APIGroup: rbacv1.GroupName, Name: s.Name}
		if s.Kind == v1alpha1.ServiceAccountKind {
			subject.APIGroup, subject.Namespace = "", s.Namespace
		}
		if !slices.Contains(subjects, subject) {
			subjects = append(subjects, subject)
		}
	}
	return subjects
}

func meta(t *v1alpha1.LNamespace, name, namespace string) metav1.ObjectMeta {
	controller := true
	return metav1.ObjectMeta{
		Name: name, Namespace: namespace,
		Labels: map[string]string{names.ManagedBy: names.Manager, names.Tenant: t.Name},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "LNamespace", Name: t.Name, UID: t.UID, Controller: &controller,
		}},
	}
}

func roleBinding(t *v1alpha1.LNamespace, name, role string, subjects []rbacv1.Subject) client.Object {
	return &rbacv1.RoleBinding{ObjectMeta: meta(t, name, t.Name), Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}}
}

func clusterRoleBinding(t *v1alpha1.LNamespace, name string, subjects []rbacv1.Subject) client.Object {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: meta(t, name, ""), Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}
}

func clusterRole(t *v1alpha1.LNamespace, name string, rules []rbacv1.PolicyRule) client.Object {
	return &rbacv1.ClusterRole{ObjectMeta: meta(t, name, ""), Rules: rules}
}

// nameOnly returns a new object of the same kind, with only the name and namespace of object.
func nameOnly(object client.Object) client.Object {
	at := metav1.ObjectMeta{Name: object.GetName(), Namespace: object.GetNamespace()}
	switch object.(type) {
	case *rbacv1.RoleBinding:
		return &rbacv1.RoleBinding{ObjectMeta: at}
	case *rbacv1.ClusterRole:
		return &rbacv1.ClusterRole{ObjectMeta: at}
	default:
		return &rbacv1.ClusterRoleBinding{ObjectMeta: at}
	}
}
