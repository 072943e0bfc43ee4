// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/names"
)

// gone waits until the object does not exist.
func (c *cluster) gone(t *testing.T, object client.Object) {
	t.Helper()
	wait(t, fmt.Sprintf("%T %s is gone", object, object.GetName()), func() error {
		err := c.client.Get(context.Background(), client.ObjectKeyFromObject(object), object)
		if err == nil {
			return fmt.Errorf("it is there")
		}
		return client.IgnoreNotFound(err)
	})
}

// there waits until the object exists.
func (c *cluster) there(t *testing.T, object client.Object) {
	t.Helper()
	wait(t, fmt.Sprintf("%T %s is there", object, object.GetName()), func() error {
		return c.client.Get(context.Background(), client.ObjectKeyFromObject(object), object)
	})
}

// sudoerRole returns the role by which a user uses sudo in a tenant, with only its name.
func sudoerRole(tenant, user string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: names.SudoerRole(tenant, user)}}
}

// TestRemoved checks that a member who is removed from a list loses the permissions of the list,
// and that the others keep theirs. If a list has a name twice, removing it once changes nothing.
//
// Attack: a sudoer who is removed from the list continues to use sudo
// Answer: refused as soon as the controller has written, without a garbage collector
// Held by: TestSudoerOfTwoTenants, TestWhileDown
func TestRemoved(t *testing.T) {
	lns := tenant("removed")
	lns.Spec.Users = []v1alpha1.Subject{user("u1"), user("u2"), user("u1")}
	lns.Spec.Sudoers = []v1alpha1.Subject{user("removed-s1"), user("removed-s2"), user("removed-s1")}
	shared.make(t, lns)
	shared.allowed(t, "u1", nil, "create", "deployments", lns.Name, "")
	shared.allowed(t, "removed-s1", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
	shared.allowed(t, "removed-s1", nil, "impersonate", "users", "", names.SudoerUser(lns.Name, "removed-s1"))
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Users, s.Sudoers = s.Users[1:2], s.Sudoers[1:2] })
	shared.refused(t, "u1", nil, "create", "deployments", lns.Name, "")
	shared.refused(t, "removed-s1", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
	shared.refused(t, "removed-s1", nil, "impersonate", "users", "", names.SudoerUser(lns.Name, "removed-s1"))
	shared.gone(t, sudoerRole(lns.Name, "removed-s1"))
	shared.allowed(t, "u2", nil, "create", "deployments", lns.Name, "")
	shared.allowed(t, "removed-s2", nil, "impersonate", "users", "", names.SudoerUser(lns.Name, "removed-s2"))
	// A sudoer who is twice in the list, and is removed once, keeps all permissions.
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) {
		s.Sudoers = []v1alpha1.Subject{user("removed-s2"), user("removed-s2")}
	})
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = s.Sudoers[:1] })
	shared.allowed(t, "removed-s2", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
	// Without members, the tenant has no RBAC objects.
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Users, s.Managers, s.Sudoers = nil, nil, nil })
	for _, object := range grants.All(lns.Name) {
		shared.gone(t, object)
	}
}

// TestSudoerOfTwoTenants checks that a sudoer of two tenants has a role in each of them, and loses
// only one when it leaves one list, even if both LNamespaces change at the same time.
func TestSudoerOfTwoTenants(t *testing.T) {
	a, b := tenant("share-a"), tenant("share-b")
	a.Spec.Sudoers, b.Spec.Sudoers = []v1alpha1.Subject{user("sharer")}, []v1alpha1.Subject{user("sharer")}
	shared.make(t, a)
	shared.make(t, b)
	set := func(lns *v1alpha1.LNamespace, sudoers ...v1alpha1.Subject) {
		shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = sudoers })
	}
	set(a)
	for range 10 {
		both := sync.WaitGroup{}
		both.Go(func() { set(a, user("sharer")) })
		both.Go(func() { set(b) })
		both.Wait()
		shared.there(t, sudoerRole(a.Name, "sharer"))
		shared.gone(t, sudoerRole(b.Name, "sharer"))
		shared.allowed(t, "sharer", nil, "impersonate", "users", "", names.SudoerUser(a.Name, "sharer"))
		shared.allowed(t, "sharer", nil, "impersonate", "groups", "", names.SudoGroup(a.Name))
		shared.refused(t, "sharer", nil, "impersonate", "users", "", names.SudoerUser(b.Name, "sharer"))
		shared.refused(t, "sharer", nil, "impersonate", "groups", "", names.SudoGroup(b.Name))
		a, b = b, a
	}
	both := sync.WaitGroup{}
	both.Go(func() { set(a) })
	both.Go(func() { set(b) })
	both.Wait()
	shared.gone(t, sudoerRole(a.Name, "sharer"))
	shared.gone(t, sudoerRole(b.Name, "sharer"))
}

// TestDeleted checks that the deletion of an LNamespace removes its namespace and RBAC objects, and
// nothing of other tenants.
func TestDeleted(t *testing.T) {
	a, b := shared.make(t, tenant("delete-a")), shared.make(t, tenant("delete-b"))
	if err := shared.client.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	shared.gone(t, &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: a.Name}})
	for _, object := range grants.All(a.Name, a.Spec.Sudoers...) {
		shared.gone(t, object)
	}
	ns := &corev1.Namespace{}
	if err := shared.client.Get(t.Context(), client.ObjectKey{Name: a.Name}, ns); err != nil || ns.DeletionTimestamp == nil {
		t.Errorf("the namespace is not being deleted: %v", err)
	}
	wanted, _ := grants.For(b, grants.Options{UserRole: "edit"})
	for _, object := range wanted {
		shared.there(t, object)
	}
	if err := shared.client.Get(t.Context(), client.ObjectKey{Name: b.Name}, ns); err != nil || ns.DeletionTimestamp != nil {
		t.Errorf("the namespace of the other: %v, %v", err, ns.DeletionTimestamp)
	}
	// While the namespace is being deleted, a new tenant with its name gets no permissions in it.
	again := tenant(a.Name)
	if err := shared.client.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	shared.waitReason(t, again, "NamespaceTerminating")
	shared.refused(t, a.Name+"-user", nil, "create", "deployments", a.Name, "")
	if err := shared.client.Delete(t.Context(), again); err != nil {
		t.Fatal(err)
	}
}

// waitReason waits until the condition Ready of the tenant is False with the reason.
func (c *cluster) waitReason(t *testing.T, lns *v1alpha1.LNamespace, reason string) {
	t.Helper()
	wait(t, lns.Name+" is "+reason, func() error {
		if err := c.client.Get(context.Background(), client.ObjectKeyFromObject(lns), lns); err != nil {
			return err
		}
		for _, condition := range lns.Status.Conditions {
			if condition.Type == v1alpha1.ConditionReady && condition.Status == metav1.ConditionFalse && condition.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("conditions: %+v", lns.Status.Conditions)
	})
}

// TestRepaired checks that the controller repairs objects that somebody changed by hand, and records
// an event: changed subjects, rules, labels, the role of a binding, or a deleted object.
//
// Attack: somebody adds a name to a role or binding of a tenant by hand, or removes its label
// Answer: the controller restores it, with an event
// Held by: TestWhileDown
func TestRepaired(t *testing.T) {
	lns := shared.make(t, tenant("repairs"))
	intruder := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "intruder"}
	edits := map[string]func() error{
		"subjects": func() error {
			rb := &rbacv1.RoleBinding{}
			if err := shared.client.Get(t.Context(), client.ObjectKey{Namespace: lns.Name, Name: names.SudoBinding}, rb); err != nil {
				return err
			}
			rb.Subjects = append(rb.Subjects, intruder)
			return shared.client.Update(t.Context(), rb)
		},
		"subjects and labels": func() error {
			rb := &rbacv1.ClusterRoleBinding{}
			if err := shared.client.Get(t.Context(), client.ObjectKey{Name: names.EditRole(lns.Name)}, rb); err != nil {
				return err
			}
			rb.Subjects, rb.Labels, rb.OwnerReferences = append(rb.Subjects, intruder), nil, nil
			return shared.client.Update(t.Context(), rb)
		},
		"rules": func() error {
			role := &rbacv1.ClusterRole{}
			if err := shared.client.Get(t.Context(), client.ObjectKey{Name: names.ManagerRole(lns.Name)}, role); err != nil {
				return err
			}
			role.Rules[0].Verbs = []string{"*"}
			return shared.client.Update(t.Context(), role)
		},
		"another role": func() error {
			rb := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: names.UsersBinding}}
			if err := shared.client.Delete(t.Context(), rb); err != nil {
				return err
			}
			rb = &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: names.UsersBinding},
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}, Subjects: []rbacv1.Subject{intruder}}
			return client.IgnoreAlreadyExists(shared.client.Create(t.Context(), rb))
		},
		"a star for sudo": func() error {
			role := &rbacv1.ClusterRole{}
			if err := shared.client.Get(t.Context(), client.ObjectKey{Name: names.SudoRole}, role); err != nil {
				return err
			}
			role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
			return shared.client.Update(t.Context(), role)
		},
		"self": func() error {
			rb := &rbacv1.ClusterRoleBinding{}
			if err := shared.client.Get(t.Context(), client.ObjectKey{Name: names.SudoerRole(lns.Name, "repairs-sudoer")}, rb); err != nil {
				return err
			}
			rb.Subjects = append(rb.Subjects, intruder)
			return shared.client.Update(t.Context(), rb)
		},
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			for err := edit(); err != nil; err = edit() {
				if !apierrors.IsConflict(err) {
					t.Fatal(err)
				}
			}
			wait(t, "it is put right", func() error { return shared.asWanted(t, lns) })
			for _, q := range [][2]string{{"impersonate", "groups"}, {"impersonate", "users"}, {"update", "lnamespaces"}, {"create", "deployments"}} {
				shared.refused(t, "intruder", nil, q[0], q[1], lns.Name, "")
			}
			shared.refused(t, "x", []string{names.SudoGroup(lns.Name)}, "bind", "roles", lns.Name, "")
		})
	}
	wait(t, "there is an event", func() error {
		list := &eventsv1.EventList{}
		if err := shared.client.List(t.Context(), list, client.InNamespace("default")); err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Regarding.Name == lns.Name && event.Reason == "Repaired" && strings.Contains(event.Note, names.SudoBinding) {
				return nil
			}
		}
		return fmt.Errorf("%d events, none of them", len(list.Items))
	})
}

// asWanted returns an error unless the objects of a tenant are those that package grants computes.
func (c *cluster) asWanted(t *testing.T, lns *v1alpha1.LNamespace) error {
	wanted, _ := grants.For(lns, grants.Options{UserRole: "edit"})
	for _, want := range wanted {
		switch want := want.(type) {
		case *rbacv1.ClusterRole:
			have := &rbacv1.ClusterRole{}
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(want), have); err != nil {
				return err
			}
			if fmt.Sprint(have.Rules) != fmt.Sprint(want.Rules) {
				return fmt.Errorf("%s: %v", have.Name, have.Rules)
			}
		case *rbacv1.ClusterRoleBinding:
			have := &rbacv1.ClusterRoleBinding{}
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(want), have); err != nil {
				return err
			}
			if fmt.Sprint(have.Subjects, have.RoleRef, have.Labels) != fmt.Sprint(want.Subjects, want.RoleRef, want.Labels) {
				return fmt.Errorf("%s: %v %v %v", have.Name, have.Subjects, have.RoleRef, have.Labels)
			}
		case *rbacv1.RoleBinding:
			have := &rbacv1.RoleBinding{}
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(want), have); err != nil {
				return err
			}
			if fmt.Sprint(have.Subjects, have.RoleRef, have.Labels) != fmt.Sprint(want.Subjects, want.RoleRef, want.Labels) {
				return fmt.Errorf("%s: %v %v %v", have.Name, have.Subjects, have.RoleRef, have.Labels)
			}
		}
	}
	return nil
}

// TestWhileDown checks that a restarted controller handles changes that were made while it was
// killed: members removed from lists, RBAC objects changed by hand, and a deleted tenant.
func TestWhileDown(t *testing.T) {
	a, b, c := shared.make(t, tenant("down-a")), shared.make(t, tenant("down-b")), shared.make(t, tenant("down-c"))
	shared.allowed(t, "down-a-user", nil, "create", "deployments", a.Name, "")
	if err := theController.kill(); err != nil {
		t.Fatal(err)
	}
	before := a.DeepCopy()
	a.Spec.Users, a.Spec.Sudoers = nil, nil
	if err := shared.client.Patch(t.Context(), a, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	// Somebody changes bindings by hand, and also removes the label by which the controller finds
	// them in its cache.
	for _, key := range []client.ObjectKey{{Namespace: a.Name, Name: names.SudoBinding}, {Namespace: b.Name, Name: names.UsersBinding}} {
		rb := &rbacv1.RoleBinding{}
		if err := shared.client.Get(t.Context(), key, rb); err != nil {
			t.Fatal(err)
		}
		rb.Labels = nil
		rb.Subjects = append(rb.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "down-intruder"})
		if err := shared.client.Update(t.Context(), rb); err != nil {
			t.Fatal(err)
		}
	}
	// Somebody removes the finalizer of a tenant, and deletes it.
	before = c.DeepCopy()
	c.Finalizers = nil
	if err := shared.client.Patch(t.Context(), c, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if err := shared.client.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	shared.allowed(t, "down-intruder", nil, "create", "deployments", b.Name, "")
	var err error
	if theController, err = shared.startController(); err != nil {
		t.Fatal(err)
	}
	shared.settled(t, a)
	shared.refused(t, "down-a-user", nil, "create", "deployments", a.Name, "")
	shared.refused(t, "down-intruder", nil, "create", "deployments", a.Name, "")
	shared.refused(t, "down-intruder", nil, "create", "deployments", b.Name, "")
	shared.allowed(t, "down-b-user", nil, "create", "deployments", b.Name, "")
	shared.gone(t, sudoerRole(a.Name, "down-a-sudoer"))
	shared.gone(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: a.Name, Name: names.SudoBinding}})
	for _, object := range grants.All(c.Name, c.Spec.Sudoers...) {
		shared.gone(t, object)
	}
}

// TestForeignNamespaces checks that permissions are granted only in namespaces that the controller
// created or that an administrator handed over, and that reserved names are refused.
//
// Attack: anybody creates an LNamespace with the name of an existing namespace, or forges the annotations of a
// namespace
// Answer: nobody gets rights in it; reserved names are refused
func TestForeignNamespaces(t *testing.T) {
	mallory := shared.as(t, "mallory")
	for _, name := range []string{"kube-system", "kube-public", "default", "kube-anything"} {
		if err := mallory.Create(t.Context(), tenant(name)); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	system := tenant("tenancy-system")
	if err := mallory.Create(t.Context(), system); err != nil {
		t.Fatal(err)
	}
	shared.waitReason(t, system, "ReservedName")
	shared.refused(t, "tenancy-system-user", nil, "create", "deployments", system.Name, "")

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}
	if err := shared.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	own := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "foreign", Name: names.UsersBinding},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}}
	if err := shared.client.Create(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	lns := tenant("foreign")
	if err := mallory.Create(t.Context(), lns); err != nil {
		t.Fatal(err)
	}
	annotate := func(key, value string) {
		before := ns.DeepCopy()
		ns.Annotations = map[string]string{key: value}
		if err := shared.client.Patch(t.Context(), ns, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	for _, forged := range []struct{ key, value string }{
		{names.AdoptedBy, "foreign"}, {names.AdoptedBy, "another-uid"}, {names.CreatedFor, "another-uid"},
	} {
		annotate(forged.key, forged.value)
		shared.waitReason(t, lns, "NamespaceNotOurs")
		shared.refused(t, "foreign-user", nil, "create", "deployments", ns.Name, "")
		shared.refused(t, "foreign-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
	}
	shared.there(t, own)
	annotate(names.AdoptedBy, string(lns.UID))
	shared.allowed(t, "foreign-user", nil, "create", "deployments", ns.Name, "")
	shared.settled(t, lns)
	if !lns.Status.Adopted || lns.Status.NamespaceUID != ns.UID {
		t.Errorf("status: %+v", lns.Status)
	}
	// When the LNamespace is deleted, the adopted namespace stays, and the permissions are revoked.
	if err := shared.client.Delete(t.Context(), lns); err != nil {
		t.Fatal(err)
	}
	shared.gone(t, lns)
	shared.refused(t, "foreign-user", nil, "create", "deployments", ns.Name, "")
	if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(ns), ns); err != nil || ns.DeletionTimestamp != nil {
		t.Errorf("the adopted namespace: %v, %v", err, ns.DeletionTimestamp)
	}
	// The annotation for the deleted LNamespace does not hand over the namespace to a new LNamespace
	// with the same name.
	next := tenant("foreign")
	if err := mallory.Create(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	shared.waitReason(t, next, "NamespaceNotOurs")
	for _, object := range []client.Object{next, system} {
		if err := shared.client.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}
