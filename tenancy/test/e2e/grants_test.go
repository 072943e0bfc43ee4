// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestRights checks which permissions the members of a tenant have in it, and that they have none
// in another tenant.
func TestRights(t *testing.T) {
	a, b := shared.make(t, tenant("rights-a")), shared.make(t, tenant("rights-b"))
	sudo := []string{names.SudoGroup(a.Name)}
	for _, tc := range []struct {
		who, verb, resource, namespace, name string
		groups                               []string
		want                                 bool
	}{
		{who: "rights-a-user", verb: "create", resource: "deployments", namespace: a.Name, want: true},
		{who: "rights-a-user", verb: "create", resource: "deployments", namespace: b.Name},
		{who: "rights-a-user", verb: "create", resource: "rolebindings", namespace: a.Name},
		{who: "rights-a-user", verb: "update", resource: "lnamespaces", name: a.Name},
		{who: "rights-a-manager", verb: "update", resource: "lnamespaces", name: a.Name, want: true},
		{who: "rights-a-manager", verb: "update", resource: "lnamespaces", name: b.Name},
		{who: "rights-a-manager", verb: "delete", resource: "lnamespaces", name: a.Name},
		{who: "rights-a-manager", verb: "create", resource: "deployments", namespace: a.Name},
		{who: "rights-a-manager", verb: "granular:" + names.Users, resource: "lnamespaces", name: a.Name, want: true},
		{who: "rights-a-manager", verb: "granular:" + names.Sudoers, resource: "lnamespaces", name: a.Name},
		{who: "rights-a-manager", verb: "granular:" + names.Sudo, resource: "lnamespaces", name: a.Name},
		// A sudoer has only the permission to impersonate the group, together with a user of its own.
		{who: "rights-a-sudoer", verb: "create", resource: "deployments", namespace: a.Name},
		{who: "rights-a-sudoer", verb: "impersonate", resource: "groups", name: names.SudoGroup(a.Name), want: true},
		{who: "rights-a-sudoer", verb: "impersonate", resource: "groups", name: names.SudoGroup(b.Name)},
		{who: "rights-a-sudoer", verb: "impersonate", resource: "groups", name: "system:masters"},
		{who: "rights-a-sudoer", verb: "impersonate", resource: "users", name: names.SudoerUser(a.Name, "rights-a-sudoer"), want: true},
		{who: "rights-a-sudoer", verb: "impersonate", resource: "users", name: "rights-a-sudoer"},
		{who: "rights-a-sudoer", verb: "impersonate", resource: "users", name: names.SudoerUser(b.Name, "rights-a-sudoer")},
		{who: "rights-a-sudoer", verb: "impersonate", resource: "users", name: names.SudoerUser(a.Name, "rights-a-user")},
		{who: "rights-a-sudoer", verb: "impersonate", resource: "users", name: "rights-a-user"},
		{who: "rights-a-user", verb: "impersonate", resource: "groups", name: names.SudoGroup(a.Name)},
		// The permissions of the group.
		{who: "x", groups: sudo, verb: "create", resource: "deployments", namespace: a.Name, want: true},
		{who: "x", groups: sudo, verb: "create", resource: "deployments", namespace: b.Name},
		{who: "x", groups: sudo, verb: "create", resource: "rolebindings", namespace: a.Name, want: true},
		{who: "x", groups: sudo, verb: "create", resource: "rolebindings", namespace: b.Name},
		{who: "x", groups: sudo, verb: "get", resource: "resourcequotas", namespace: a.Name, want: true},
		{who: "x", groups: sudo, verb: "delete", resource: "resourcequotas", namespace: a.Name},
		{who: "x", groups: sudo, verb: "update", resource: "limitranges", namespace: a.Name},
		{who: "x", groups: sudo, verb: "get", resource: "namespaces", namespace: a.Name, name: a.Name, want: true},
		{who: "x", groups: sudo, verb: "patch", resource: "namespaces", namespace: a.Name, name: a.Name},
		{who: "x", groups: sudo, verb: "delete", resource: "namespaces", namespace: a.Name, name: a.Name},
		{who: "x", groups: sudo, verb: "delete", resource: "protectedattributes", namespace: a.Name},
		{who: "x", groups: sudo, verb: "bind", resource: "roles", namespace: a.Name},
		{who: "x", groups: sudo, verb: "escalate", resource: "roles", namespace: a.Name},
		{who: "x", groups: sudo, verb: "granular", resource: "deployments", namespace: a.Name},
		{who: "x", groups: sudo, verb: "update", resource: "lnamespaces", name: a.Name, want: true},
		{who: "x", groups: sudo, verb: "granular:" + names.Sudoers, resource: "lnamespaces", name: a.Name},
		{who: "x", groups: sudo, verb: "delete", resource: "lnamespaces", name: a.Name},
		{who: "x", groups: sudo, verb: "update", resource: "lnamespaces", name: b.Name},
		{who: "x", groups: sudo, verb: "create", resource: "clusterroles"},
		// The permissions of all authenticated users.
		{who: "y", verb: "create", resource: "lnamespaces", want: true},
		{who: "y", verb: "list", resource: "deployments", want: true},
		{who: "y", verb: "list", resource: "secrets"},
		{who: "y", verb: "update", resource: "lnamespaces", name: a.Name},
	} {
		if tc.want {
			shared.allowed(t, tc.who, tc.groups, tc.verb, tc.resource, tc.namespace, tc.name)
		} else {
			shared.refused(t, tc.who, tc.groups, tc.verb, tc.resource, tc.namespace, tc.name)
		}
	}
	if got := a.Status.Granted; len(got.Users) != 1 || len(got.Managers) != 1 || len(got.Sudoers) != 1 || a.Status.SudoGroup != names.SudoGroup(a.Name) {
		t.Errorf("status: %+v", a.Status)
	}
}

// TestTenantWithoutFields checks that an LNamespace without a spec can be created and deleted, and
// that the controller does not add a spec.
func TestTenantWithoutFields(t *testing.T) {
	bare := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "LNamespace", "metadata": map[string]any{"name": "bare"},
	}}
	if err := shared.client.Create(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "bare"}}
	shared.settled(t, lns)
	if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), bare); err != nil {
		t.Fatal(err)
	}
	if spec, ok := bare.Object["spec"]; ok {
		t.Errorf("the controller wrote %v", spec)
	}
	if err := shared.client.Delete(t.Context(), lns); err != nil {
		t.Fatal(err)
	}
	shared.gone(t, lns)
}

// TestDefinition checks parts of the CustomResourceDefinition of LNamespaces: the defaults, and the
// columns that kubectl prints.
func TestDefinition(t *testing.T) {
	lns := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "LNamespace", "metadata": map[string]any{"name": "definition"},
		"spec": map[string]any{"users": []any{map[string]any{"name": "u"}}, "sudo": map[string]any{},
			"billing": map[string]any{"account": "4711"}},
	}}
	if err := shared.client.Create(t.Context(), lns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.client.Delete(context.Background(), lns); err != nil {
			t.Error(err)
		}
	})
	users, _, _ := unstructured.NestedSlice(lns.Object, "spec", "users")
	if kind := users[0].(map[string]any)["kind"]; kind != "User" {
		t.Errorf("the kind of a name is %v", kind)
	}
	if at, _, _ := unstructured.NestedString(lns.Object, "spec", "sudo", "atRevocation"); at != "Report" {
		t.Errorf("at revocation: %q", at)
	}
	shared.settled(t, &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "definition"}})
	out, err := shared.kubectl("admin", "get", "lns", "definition", "-o", "wide")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(out, "\n")
	if got := strings.Join(strings.Fields(lines[0]), " "); got != "NAME READY REASON BILLING SUDO-GROUP AGE" {
		t.Errorf("columns: %s", got)
	}
	if got := strings.Join(strings.Fields(lines[1])[:5], " "); got != "definition True Granted 4711 lnamespace:definition-sudoers" {
		t.Errorf("printed: %s", got)
	}
}

// TestAllowances checks that sudo may make each change that spec.sudo.allow can list only if it is
// listed.
//
// Attack: sudo changes the Namespace object, quotas, or the lists of the tenant, or deletes the tenant
// Answer: refused, unless the tenant allows that change
// Held by: TestRights
func TestAllowances(t *testing.T) {
	lns := shared.make(t, tenant("allow"))
	sudo := []string{names.SudoGroup(lns.Name)}
	ask := []struct {
		allow                     v1alpha1.SudoAllowance
		verb, resource, namespace string
	}{
		{v1alpha1.AllowQuotas, "delete", "resourcequotas", lns.Name},
		{v1alpha1.AllowNamespace, "patch", "namespaces", lns.Name},
		{v1alpha1.AllowLists, "granular:" + names.Sudoers, "lnamespaces", ""},
		{v1alpha1.AllowDelete, "delete", "lnamespaces", ""},
	}
	for _, allowance := range ask {
		shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudo.Allow = []v1alpha1.SudoAllowance{allowance.allow} })
		for _, tc := range ask {
			if tc.allow == allowance.allow {
				shared.allowed(t, "x", sudo, tc.verb, tc.resource, tc.namespace, lns.Name)
			} else {
				shared.refused(t, "x", sudo, tc.verb, tc.resource, tc.namespace, lns.Name)
			}
		}
	}
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudo.Allow = nil })
	for _, tc := range ask {
		shared.refused(t, "x", sudo, tc.verb, tc.resource, tc.namespace, lns.Name)
	}
}

// TestCreatorsLiftNoLimits checks that only who may change spec.sudo of every LNamespace lets sudo change the Namespace object
// and quotas, in a new LNamespace and in one that exists.
//
// Attack: a person creates a tenant in which sudo may change the Namespace object and quotas, and then lifts the level of
// pod security or the quota that an administrator set on tenants
// Was: got through
// Answer: 403 by the admission policies alone and by the webhook alone
// Held by: TestWebhooks, TestListsWithoutVerbs
// Attack: with the allowance Lists, which a creator may give, sudo adds these two allowances
// Was: got through
// Answer: 403; without them, sudo changes spec.sudo
func TestCreatorsLiftNoLimits(t *testing.T) { creatorsLiftNoLimits(t, shared) }

func creatorsLiftNoLimits(t *testing.T, c *cluster) {
	c.holds(t, "easing-admin", "", "create", "get", "patch", "update", names.FieldVerb(names.Sudo))
	lns := tenant("easing")
	lns.Spec.Sudo.Allow = []v1alpha1.SudoAllowance{v1alpha1.AllowLists}
	c.make(t, lns)
	c.holds(t, "easing-one", lns.Name, "create", "get", "patch", "update", names.FieldVerb(names.Sudo))
	group := names.SudoGroup(lns.Name)
	c.allowed(t, "x", []string{group}, names.FieldVerb(names.Sudo), "lnamespaces", "", lns.Name)
	sudo := c.as(t, names.SudoerUser(lns.Name, "easing-sudoer"), group)
	administrator, person, one := c.as(t, "easing-admin"), c.as(t, "somebody"), c.as(t, "easing-one")
	for name, tc := range map[string]struct {
		allow []v1alpha1.SudoAllowance
		lifts bool
	}{
		"the namespace":  {[]v1alpha1.SudoAllowance{v1alpha1.AllowNamespace}, true},
		"quotas":         {[]v1alpha1.SudoAllowance{v1alpha1.AllowQuotas}, true},
		"among others":   {[]v1alpha1.SudoAllowance{v1alpha1.AllowLists, v1alpha1.AllowDelete, v1alpha1.AllowNamespace}, true},
		"the own tenant": {[]v1alpha1.SudoAllowance{v1alpha1.AllowLists, v1alpha1.AllowDelete}, false},
	} {
		for who, w := range map[string]struct {
			client  client.Client
			creates bool
			refused bool
		}{
			"an administrator": {administrator, true, false}, "a person": {person, true, tc.lifts},
			"with sudo": {sudo, false, tc.lifts}, "who may change this one": {one, false, tc.lifts},
		} {
			wait(t, name+", "+who, func() error {
				after := lns.DeepCopy()
				after.Spec.Sudo.Allow = tc.allow
				err := w.client.Patch(t.Context(), after, client.MergeFrom(lns), client.DryRunAll)
				if w.creates {
					made := tenant("eased")
					made.Spec.Sudo.Allow = tc.allow
					err = w.client.Create(t.Context(), made, client.DryRunAll)
				}
				switch {
				case !w.refused:
					return err
				case !forbidden(err) || !strings.Contains(err.Error(), "Namespace and Quotas need the verb"):
					return fmt.Errorf("not refused: %v", err)
				}
				return nil
			})
		}
	}
	// What it allowed before stays allowed.
	c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudo.Allow = append(s.Sudo.Allow, v1alpha1.AllowQuotas) })
	wait(t, "sudo removes an allowance, and leaves this one", func() error {
		after := lns.DeepCopy()
		after.Spec.Sudo.Allow = []v1alpha1.SudoAllowance{v1alpha1.AllowQuotas}
		return sudo.Patch(t.Context(), after, client.MergeFrom(lns), client.DryRunAll)
	})
}

// TestManagerIsNoSudoer checks, on a server that does not authorize single fields, that a manager
// can change spec.users and can't change spec.sudoers.
//
// Attack: a manager of a tenant makes himself sudoer
// Answer: 403 by the admission policy alone, with `update` and with permissions of fields, and by the webhook
// alone; changes of users and managers succeed
// Held by: TestGranularServer, TestWebhooks
//
// Attack: a manager of a tenant widens the rights of sudo, removes a finalizer, names an owner, or writes the
// status
// Answer: 403 by the field permissions alone, by the webhook alone and by the admission policy alone
// Held by: TestGranularServer, TestWebhooks
func TestManagerIsNoSudoer(t *testing.T) { managerIsNoSudoer(t, shared) }

func managerIsNoSudoer(t *testing.T, c *cluster) {
	lns := c.make(t, tenant("manager"))
	manager := c.as(t, "manager-manager")
	patch := func(change func(*v1alpha1.LNamespaceSpec)) error {
		before := lns.DeepCopy()
		after := lns.DeepCopy()
		change(&after.Spec)
		return manager.Patch(t.Context(), after, client.MergeFrom(before))
	}
	wait(t, "the manager adds a user", func() error {
		return patch(func(s *v1alpha1.LNamespaceSpec) { s.Users = append(s.Users, user("more")) })
	})
	c.allowed(t, "more", nil, "create", "deployments", lns.Name, "")
	for name, change := range map[string]func(*v1alpha1.LNamespaceSpec){
		"sudoers":         func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = append(s.Sudoers, user("manager-manager")) },
		"one for another": func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = []v1alpha1.Subject{user("manager-manager")} },
	} {
		if err := patch(change); err == nil {
			t.Errorf("a manager changes %s", name)
		} else if !forbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	managerWritesOnlyLists(t, c, lns)
}

// managerWritesOnlyLists checks that the manager of a tenant can't change what sudo may do, the finalizers,
// the owners and the status of the tenant.
func managerWritesOnlyLists(t *testing.T, c *cluster, lns *v1alpha1.LNamespace) {
	manager := c.as(t, lns.Name+"-manager")
	wider := lns.DeepCopy()
	wider.Spec.Sudo.Allow = []v1alpha1.SudoAllowance{v1alpha1.AllowDelete}
	if err := manager.Patch(t.Context(), wider, client.MergeFrom(lns)); err == nil || !forbidden(err) {
		t.Errorf("a manager changes sudo: %v", err)
	}
	unfinalized := lns.DeepCopy()
	unfinalized.Finalizers = nil
	if err := manager.Patch(t.Context(), unfinalized, client.MergeFrom(lns)); err == nil || !forbidden(err) {
		t.Errorf("a manager takes the finalizer away: %v", err)
	}
	owned := lns.DeepCopy()
	owned.OwnerReferences = nobody
	if err := manager.Patch(t.Context(), owned, client.MergeFrom(lns)); err == nil || !forbidden(err) {
		t.Errorf("a manager names an owner: %v", err)
	}
	lns.Status.NamespaceUID = "forged"
	if err := manager.Status().Update(t.Context(), lns); err == nil || !forbidden(err) {
		t.Errorf("a manager writes the status: %v", err)
	}
}

// TestRealSudo checks that requests that impersonate the group have the permissions of sudo, and
// that a sudoer who impersonates only itself, or the group of another tenant, does not.
func TestRealSudo(t *testing.T) {
	lns := shared.make(t, tenant("real"))
	shared.allowed(t, "x", []string{names.SudoGroup(lns.Name)}, "create", "configmaps", lns.Name, "")
	with := shared.as(t, "real-sudoer", names.SudoGroup(lns.Name))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: lns.Name}}
	if err := with.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "t", Namespace: lns.Name}}
	if err := shared.as(t, "real-sudoer").Create(t.Context(), secret); !forbidden(err) {
		t.Errorf("without sudo: %v", err)
	}
	if err := shared.as(t, "real-sudoer", names.SudoGroup("other")).Create(t.Context(), secret); !forbidden(err) {
		t.Errorf("with the group of another: %v", err)
	}
}
