// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// sudo returns a client that uses sudo in a tenant. It waits until the server marks what the client
// creates, because the server enforces the policies only a moment after they were created.
func (c *cluster) sudo(t *testing.T, name, tenant string) client.Client {
	t.Helper()
	group := names.SudoGroup(tenant)
	c.allowed(t, "x", []string{group}, "create", "rolebindings", tenant, "")
	sudo := c.as(t, name, group)
	wait(t, "objects created with sudo get the label", func() error {
		made := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "attempt"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}}
		if err := sudo.Create(t.Context(), made, client.DryRunAll); err != nil {
			return err
		}
		if made.Labels[names.MadeWithSudo] != "true" {
			return fmt.Errorf("%v", made.Labels)
		}
		return nil
	})
	return sudo
}

// bindingTo returns a RoleBinding of the user to a role.
func bindingTo(kind, role, namespace, name string, users ...string) *rbacv1.RoleBinding {
	rb := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}}
	for _, u := range users {
		rb.Subjects = append(rb.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: u})
	}
	return rb
}

// create creates the objects.
func create(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// reports waits until status.leftovers has these entries.
func (c *cluster) reports(t *testing.T, lns *v1alpha1.LNamespace, want string) {
	t.Helper()
	wait(t, "leftovers are "+want, func() error {
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
			return err
		}
		if got := fmt.Sprint(lns.Status.Leftovers); got != want {
			return fmt.Errorf("reported: %s", got)
		}
		return nil
	})
}

// TestRolesMadeAnewAreReported checks that a Role that a sudoer created counts as made with sudo,
// and a Role of others does not.
//
// Attack: with sudo, a caller deletes a Role to which others are bound, and creates a wider one of the same name
// Answer: the new Role records who made it; it is in `status.leftovers`, or removed
func TestRolesMadeAnewAreReported(t *testing.T) {
	lns := shared.make(t, tenant("anew"))
	sudo := shared.sudo(t, "anew-sudoer", lns.Name)
	role := func(name, resource string) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: name},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}}}}
	}
	theirs, wide, other := role("theirs", "pods"), role("theirs", "secrets"), role("other", "pods")
	binding := bindingTo("Role", "theirs", lns.Name, "theirs", "anew-friend")
	create(t, shared.client, theirs, other, binding)
	if err := sudo.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	create(t, sudo, wide)
	if wide.Labels[names.MadeWithSudo] != "true" || wide.Annotations[names.Maker] != "anew-sudoer" || other.Labels[names.MadeWithSudo] != "" {
		t.Errorf("made with sudo: %v %v; without: %v", wide.Labels, wide.Annotations, other.Labels)
	}
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = nil })
	shared.reports(t, lns, "[{Role theirs anew-sudoer}]")
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudo.AtRevocation = v1alpha1.RemoveLeftovers })
	shared.gone(t, wide)
	shared.there(t, other)
	shared.there(t, binding)
}

// TestChangersOfWhatSudoMadeAreReported checks that a sudoer who changed what a colleague made with
// sudo is reported, and each of them once.
//
// Attack: with sudo, a caller widens a binding that a colleague made with sudo, and leaves before the colleague
// Answer: `status.leftovers` names the caller; it does not name the colleague, who is still a sudoer
func TestChangersOfWhatSudoMadeAreReported(t *testing.T) {
	lns := tenant("widened")
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, user("widened-next"))
	shared.make(t, lns)
	sudo, next := shared.sudo(t, "widened-sudoer", lns.Name), shared.sudo(t, "widened-next", lns.Name)
	door := bindingTo("ClusterRole", "view", lns.Name, "door", "friend")
	create(t, sudo, door)
	for i, c := range []client.Client{next, sudo} {
		before := door.DeepCopy()
		door.Subjects = append(door.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: fmt.Sprint("other-", i)})
		if err := c.Patch(t.Context(), door, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = s.Sudoers[:1] })
	shared.reports(t, lns, "[{RoleBinding door widened-next}]")
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = nil })
	shared.reports(t, lns, "[{RoleBinding door widened-next} {RoleBinding door widened-sudoer}]")
}

// TestLeftoversThatAreBeingDeleted checks that a binding of a former sudoer that a finalizer holds is
// reported and removed. A Secret that a finalizer holds lets nobody in, and is not reported.
//
// Attack: with sudo, a caller creates a binding with a finalizer and deletes it, so that it stays and gives rights
// Answer: it is in `status.leftovers`, or removed
func TestLeftoversThatAreBeingDeleted(t *testing.T) {
	lns := shared.make(t, tenant("ending"))
	sudo := shared.sudo(t, "ending-sudoer", lns.Name)
	door, key := bindingTo("ClusterRole", "admin", lns.Name, "door", "ending-sudoer"), secret(lns.Name, "key")
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "door"}}
	for _, object := range []client.Object{door, role, key} {
		object.SetFinalizers([]string{"example.com/stay"})
		create(t, sudo, object)
		if err := sudo.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	shared.allowed(t, "ending-sudoer", nil, "create", "secrets", lns.Name, "")
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = nil })
	shared.reports(t, lns, "[{Role door ending-sudoer} {RoleBinding door ending-sudoer}]")
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudo.AtRevocation = v1alpha1.RemoveLeftovers })
	shared.gone(t, door)
	shared.gone(t, role)
	shared.refused(t, "ending-sudoer", nil, "create", "secrets", lns.Name, "")
	shared.there(t, key)
	before := key.DeepCopy()
	key.SetFinalizers(nil)
	if err := shared.client.Patch(t.Context(), key, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// TestMarksAreNotForged checks that nobody but administrators creates an object with the marks of
// sudo, without sudo or under the name of another.
//
// Attack: a caller creates an object with the marks of sudo, so that somebody else seems to have made or changed
// it, or that many such objects hide others
// Answer: 403; without the marks the object is created
func TestMarksAreNotForged(t *testing.T) {
	lns := shared.make(t, tenant("forged"))
	sudo, plain := shared.sudo(t, "forged-sudoer", lns.Name), shared.as(t, "forged-user")
	shared.allowed(t, "forged-user", nil, "create", "secrets", lns.Name, "")
	for name, mark := range map[string]func(object client.Object){
		"made":     func(object client.Object) { object.SetLabels(map[string]string{names.MadeWithSudo: "true"}) },
		"maker":    func(object client.Object) { object.SetAnnotations(map[string]string{names.Maker: "forged-sudoer"}) },
		"changed":  func(object client.Object) { object.SetLabels(map[string]string{names.ChangedWithSudo: "true"}) },
		"changers": func(object client.Object) { object.SetAnnotations(map[string]string{names.Changers: "somebody"}) },
	} {
		forged := secret(lns.Name, name)
		mark(forged)
		wait(t, name+" is refused", func() error {
			err := plain.Create(t.Context(), forged.DeepCopy(), client.DryRunAll)
			return wantForbidden(err)
		})
		create(t, plain, secret(lns.Name, name))
		byAdmin := secret(lns.Name, name+"-by-admin")
		mark(byAdmin)
		create(t, shared.client, byAdmin)
		if name == "made" || name == "maker" { // the policy sets the true maker
			continue
		}
		door := bindingTo("ClusterRole", "view", lns.Name, name)
		mark(door)
		if err := sudo.Create(t.Context(), door); !forbidden(err) {
			t.Errorf("%s with sudo: %v", name, err)
		}
		create(t, sudo, bindingTo("ClusterRole", "view", lns.Name, name))
	}
	for _, object := range []client.Object{&corev1.ServiceAccount{}, &rbacv1.RoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}}} {
		object.SetNamespace(lns.Name)
		object.SetName("made-with-sudo")
		create(t, sudo, object)
		if object.GetAnnotations()[names.Maker] != "forged-sudoer" {
			t.Errorf("%T: %v", object, object.GetAnnotations())
		}
	}
}
