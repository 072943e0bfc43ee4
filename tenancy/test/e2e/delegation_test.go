// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestSudoByDelegation runs kubectl sudo, with client certificates, in a cluster where sudo is
// delegation and sudoers can't impersonate.
//
// Attack: with sudo by delegation, a sudoer acts without a delegation, or by that of a colleague or of another
// tenant
// Answer: 403; by his own delegation he has the rights of the group, in its namespace and on its LNamespace
func TestSudoByDelegation(t *testing.T) {
	c := byDelegation(t)
	for name, groups := range map[string][]string{"ada": nil, "bob": nil, "olga": {"ops"}} {
		c.newUser(t, name, groups...)
	}
	c.allowed(t, "ada", nil, "create", "lnamespaces", "", "")
	must, mustFail := c.commands(t)
	must("ada", "created", "create", "lns", "crew", "--user", "ada", "--sudoer", "ada", "--sudoer", "group:ops", "--billing", "4711")
	must("ada", "condition met", "wait", "--for=condition=Ready", "--timeout=60s", "lns/crew")
	must("bob", "created", "create", "lns", "other", "--sudoer", "bob")
	must("bob", "condition met", "wait", "--for=condition=Ready", "--timeout=60s", "lns/other")
	crew := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "crew"}}
	other := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	c.settled(t, crew)
	c.settled(t, other)
	c.allowed(t, "ada", nil, "create", "deployments", "crew", "")
	ada := delegationOf(t, crew, user("ada"))

	mustFail("ada", "forbidden", "create", "role", "r", "--verb=get", "--resource=pods", "-n", "crew")
	c.eventually(t, "ada", "role.rbac.authorization.k8s.io/r created", "sudo", "--reason", "TICKET-1", "create", "role", "r", "--verb=get", "--resource=pods", "-n", "crew")
	must("ada", "r ", "sudo", "kubectl", "get", "roles", "-n", "crew") // as after the expansion of !!
	must("olga", "r ", "sudo", "get", "roles", "-n", "crew")
	must("ada", "created", "sudo", "create", "rolebinding", "b", "--role=r", "--user=zoe", "-n", "crew")
	c.allowed(t, "zoe", nil, "get", "pods", "crew", "")
	must("ada", "patched", "sudo", "patch", "lns", "crew", "--type=merge", "-p", `{"spec":{"billing":{"account":"4712"}}}`)
	must("ada", "crew     everything in the namespace   delegation "+ada.Delegation, "sudo", "-l")
	must("olga", "crew     everything in the namespace   delegation ", "sudo", "-l")
	mustFail("ada", "forbidden", "sudo", "patch", "lns", "crew", "--type=merge", "-p", `{"spec":{"sudoers":[]}}`)
	mustFail("ada", "forbidden", "sudo", "-n", "crew", "delete", "namespace", "crew")
	mustFail("ada", `ada is no sudoer of "other"`, "sudo", "get", "secrets", "-n", "other")
	mustFail("ada", `ada is no sudoer of "kube-system"`, "sudo", "get", "secrets", "-n", "kube-system")
	// Requests with the delegations of others are refused, and so are requests without a delegation.
	bob := delegationOf(t, other, user("bob"))
	mustFail("ada", "forbidden", "with", "delegation/"+bob.Delegation, "get", "secrets", "-n", "other")
	must("bob", "No resources found", "with", "delegation/"+bob.Delegation, "get", "secrets", "-n", "other")
	mustFail("bob", "forbidden", "with", "delegation/uid:"+string(ada.UID), "get", "secrets", "-n", "crew")
	ops := delegationOf(t, crew, v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: "ops"})
	mustFail("bob", "forbidden", "with", "delegation/"+ops.Delegation, "get", "secrets", "-n", "crew")
	mustFail("bob", "forbidden", "with", "delegation/"+bob.Delegation, "get", "secrets", "-n", "crew")
	mustFail("bob", "forbidden", "with", "delegation/"+bob.Delegation, "get", "secrets", "-n", "kube-system")
	// No sudoer may impersonate the group, or the user that exists for sudo by impersonation.
	for _, who := range []string{"ada", "olga", "bob"} {
		c.refused(t, who, []string{"ops"}, "impersonate", "groups", "", names.SudoGroup("crew"))
		c.refused(t, who, []string{"ops"}, "impersonate", "users", "", names.SudoerUser("crew", who))
		c.refused(t, who, []string{"ops"}, "impersonate", "users", "", names.SudoUser("crew"))
		c.refused(t, who, []string{"ops"}, "impersonate", "groups", "", names.Delegators)
	}
	c.gone(t, sudoerRole("crew", "ada"))
	c.gone(t, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: names.ImpersonatorRole("crew")}})
	// The audit log has the user, the delegator and the reason.
	text, err := os.ReadFile(delegatingLog())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range bytes.Split(text, []byte("\n")) {
		event := struct {
			User             struct{ Username string }
			ImpersonatedUser any
			ObjectRef        struct{ Resource string }
			Verb             string
			Annotations      map[string]string
		}{}
		if len(line) == 0 || json.Unmarshal(line, &event) != nil || event.ObjectRef.Resource != "roles" || event.Verb != "create" || event.User.Username != "ada" {
			continue
		}
		if event.Annotations["authority.kube-granular.dev/reason"] == "TICKET-1" && event.ImpersonatedUser == nil &&
			strings.Contains(event.Annotations["authority.kube-granular.dev/chain"], names.SudoUser("crew")) {
			return
		}
	}
	t.Error("the audit log does not have the user, the delegator and the reason")
}

// TestSudoDelegationEscalation checks that, where sudo is delegation, a sudoer can't get or grant
// more permissions than sudo has. Each attack has a twin that is allowed.
//
// Attack: by a delegation of sudo, a caller binds somebody to `cluster-admin`, to a role with wildcards,
// permission verbs or quotas, or in another namespace
// Answer: 403; binding and granting the tenant's own rights succeeds
//
// Attack: by a delegation of sudo, a caller asks for a token or a certificate
// Answer: 403, whatever its lifetime
//
// Attack: a sudoer delegates a delegation of sudo further, to another user or to himself
// Answer: 403
func TestSudoDelegationEscalation(t *testing.T) {
	c := byDelegation(t)
	lns, other := c.make(t, tenant("dx")), c.make(t, tenant("dx-other"))
	me := user("dx-sudoer")
	sudo := c.under(t, byName(delegationOf(t, lns, me)), me.Name)
	wait(t, "sudo works", func() error { return sudo.Create(t.Context(), secret(lns.Name, "first")) })
	binding := func(namespace, name, role string) client.Object {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "dx-friend"}}}
	}
	role := func(name string, rule rbacv1.PolicyRule) client.Object {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: name},
			Rules: []rbacv1.PolicyRule{rule}}
	}
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	quota := func(namespace string) client.Object {
		return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "q"}}
	}
	for name, tc := range map[string]struct{ may, mayNot client.Object }{
		"an object elsewhere":     {secret(lns.Name, "s"), secret(other.Name, "s")},
		"an object of the system": {secret(lns.Name, "t"), secret("kube-system", "t")},
		"a quota": {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "c"}},
			quota(lns.Name)},
		"binding a role":    {binding(lns.Name, "edit", "edit"), binding(lns.Name, "all", "cluster-admin")},
		"binding elsewhere": {binding(lns.Name, "admin", "admin"), binding(other.Name, "edit", "edit")},
		"binding quotas": {binding(lns.Name, "view", "view"),
			binding(lns.Name, "quotas", names.SudoQuotasRole)},
		"a star": {role("pods", rule("", "pods", "create")), role("star", rule("*", "*", "*"))},
		"a field": {role("deploy", rule("apps", "deployments", "patch")),
			role("field", rule("apps", "deployments", "granular:unheard-of"))},
		"the Namespace": {role("seen", rule("", "namespaces", "get")),
			role("ns", rule("", "namespaces", "update"))},
		"protected attributes": {role("configs", rule("", "configmaps", "delete")),
			role("attributes", rule("authority.kube-granular.dev", "protectedattributes", "delete"))},
		"the marks of sudo": {role("svc", rule("", "services", "delete")),
			role("marks", rule("tenancy.kube-granular.dev", "lnamespaces", "sudo"))},
	} {
		if err := sudo.Create(t.Context(), tc.may); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := sudo.Create(t.Context(), tc.mayNot); !apierrors.IsForbidden(err) {
			t.Errorf("%s: not refused: %v", name, err)
		}
	}
	// Sudo may not create a ClusterRole.
	if err := sudo.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "dx"}}); !apierrors.IsForbidden(err) {
		t.Errorf("a cluster role: %v", err)
	}
	// Sudo by delegation may request neither tokens nor certificates.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "robot"}}
	if err := sudo.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	for who, api := range map[string]client.Client{"sudo": sudo, "an administrator": c.client} {
		err := api.SubResource("token").Create(t.Context(), account.DeepCopy(), &authenticationv1.TokenRequest{})
		if apierrors.IsForbidden(err) != (who == "sudo") {
			t.Errorf("a token for %s: %v", who, err)
		}
	}
	for who, api := range map[string]client.Client{"sudo": sudo, "an administrator": c.client} {
		err := api.Create(t.Context(), c.request(t, "dx-"+strings.Fields(who)[0], "kubernetes.io/kube-apiserver-client"))
		if apierrors.IsForbidden(err) != (who == "sudo") || err != nil && who != "sudo" {
			t.Errorf("a certificate for %s: %v", who, err)
		}
	}
	// A sudoer may not delegate the permissions of sudo further.
	for i, to := range []string{"dx-friend", me.Name} {
		child := &authority.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("dx-child-%d", i)}, Spec: authority.AuthorityDelegationSpec{
			Delegates: []authority.Delegate{{Kind: authority.DelegateUser, Name: to}}, Scope: authority.DelegationScope{Namespace: lns.Name},
			Rules: []rbacv1.PolicyRule{rule("", "secrets", "get")}, IfLost: authority.LossWithdraw,
		}}
		for who, api := range map[string]client.Client{"by sudo": sudo, "without": c.as(t, me.Name)} {
			if err := api.Create(t.Context(), child.DeepCopy()); !apierrors.IsForbidden(err) {
				t.Errorf("%s: a further delegation: %v", who, err)
			}
		}
	}
	// A user whose credentials include the group has the permissions of the group, but may not
	// delegate them. For that, a user must also be in the group Delegators, and only the controller
	// can impersonate that group.
	group := names.SudoGroup(lns.Name)
	lent := &authority.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "dx-lent"}, Spec: authority.AuthorityDelegationSpec{
		Delegates: []authority.Delegate{{Kind: authority.DelegateUser, Name: "dx-friend"}}, Scope: authority.DelegationScope{Namespace: lns.Name},
		Rules: []rbacv1.PolicyRule{rule("", "secrets", "get")}, IfLost: authority.LossWithdraw,
	}}
	if err := c.as(t, "dx-x", group).Create(t.Context(), lent.DeepCopy()); !apierrors.IsForbidden(err) {
		t.Errorf("a member of the group may delegate: %v", err)
	}
	if err := c.as(t, names.SudoUser(lns.Name), group).Create(t.Context(), lent.DeepCopy()); !apierrors.IsForbidden(err) {
		t.Errorf("a member of the group with the name of SudoUser may delegate: %v", err)
	}
	if err := c.as(t, names.SudoUser(lns.Name), group, names.Delegators).Create(t.Context(), lent.DeepCopy(), client.DryRunAll); err != nil {
		t.Errorf("a member of both groups may not delegate: %v", err)
	}
	// Changes of the Namespace and of the LNamespace, in the own tenant and in another one.
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: lns.Name}}
	labelled := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`))
	if err := sudo.Patch(t.Context(), ns, labelled); !apierrors.IsForbidden(err) {
		t.Errorf("the Namespace: %v", err)
	}
	bill := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"billing":{"account":"dx"}}}`))
	if err := sudo.Patch(t.Context(), lns.DeepCopy(), bill); err != nil {
		t.Errorf("spec.billing of the own tenant: %v", err)
	}
	if err := sudo.Patch(t.Context(), other.DeepCopy(), bill); !apierrors.IsForbidden(err) {
		t.Errorf("spec.billing of another tenant: %v", err)
	}
	for _, object := range []client.Object{lns.DeepCopy(), ns} {
		if err := sudo.Delete(t.Context(), object); !apierrors.IsForbidden(err) {
			t.Errorf("deleting %T: %v", object, err)
		}
	}
}

// TestSudoDelegationAllowances checks, where sudo is delegation, that sudo may make each change
// that spec.sudo.allow can list only while it is listed.
//
// Attack: by a delegation of sudo, a caller changes quotas, the Namespace or the lists, or deletes the tenant
// Answer: 403, unless the tenant allows that change; 403 again when it no longer does, also by an older
// delegation
func TestSudoDelegationAllowances(t *testing.T) {
	c := byDelegation(t)
	lns := c.make(t, tenant("da"))
	me := user("da-sudoer")
	dry := func(sudo client.Client) map[v1alpha1.SudoAllowance]error {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: lns.Name}}
		patch := func(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }
		return map[v1alpha1.SudoAllowance]error{
			v1alpha1.AllowQuotas:    sudo.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "q"}}, client.DryRunAll),
			v1alpha1.AllowNamespace: sudo.Patch(t.Context(), ns, patch(`{"metadata":{"labels":{"a":"b"}}}`), client.DryRunAll),
			v1alpha1.AllowLists:     sudo.Patch(t.Context(), lns.DeepCopy(), patch(`{"spec":{"users":[]}}`), client.DryRunAll),
			v1alpha1.AllowDelete:    sudo.Delete(t.Context(), lns.DeepCopy(), client.DryRunAll),
		}
	}
	var before client.Client
	for _, allowed := range []v1alpha1.SudoAllowance{v1alpha1.AllowQuotas, v1alpha1.AllowNamespace, v1alpha1.AllowLists, v1alpha1.AllowDelete, ""} {
		c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) {
			s.Sudo.Allow = nil
			if allowed != "" {
				s.Sudo.Allow = []v1alpha1.SudoAllowance{allowed}
			}
		})
		sudo := c.under(t, byName(delegationOf(t, lns, me)), me.Name)
		wait(t, fmt.Sprintf("%q is allowed, and nothing else", allowed), func() error {
			for what, err := range dry(sudo) {
				if what == allowed && err != nil || what != allowed && !apierrors.IsForbidden(err) {
					return fmt.Errorf("%s: %v", what, err)
				}
			}
			if left := c.delegated(t, lns.Name); len(left) != 1 {
				return fmt.Errorf("%d delegations", len(left))
			}
			if before == nil {
				return nil
			}
			for what, err := range dry(before) {
				if !apierrors.IsForbidden(err) {
					return fmt.Errorf("%s by the delegation of the time before: %v", what, err)
				}
			}
			return nil
		})
		before = sudo
	}
}
