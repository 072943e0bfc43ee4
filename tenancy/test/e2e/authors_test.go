// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// robot returns a client that acts as the service account robot of a namespace.
func (c *cluster) robot(t *testing.T, namespace string) client.Client {
	t.Helper()
	return c.as(t, "system:serviceaccount:"+namespace+":robot", "system:serviceaccounts", "system:serviceaccounts:"+namespace)
}

// bindingToRobot returns a RoleBinding of the service account robot of its namespace to the role admin.
func bindingToRobot(namespace, name, robotNamespace string) *rbacv1.RoleBinding {
	rb := bindingTo("ClusterRole", "admin", namespace, name)
	rb.Subjects = []rbacv1.Subject{{Kind: "ServiceAccount", Name: "robot", Namespace: robotNamespace}}
	return rb
}

// everywhere binds a user to the role admin in all namespaces.
func (c *cluster) everywhere(t *testing.T, name string) client.Client {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}}}
	create(t, c.client, binding)
	t.Cleanup(func() {
		if err := c.client.Delete(context.Background(), binding); err != nil {
			t.Error(err)
		}
	})
	c.allowed(t, name, nil, "create", "rolebindings", "", "")
	return c.as(t, name)
}

// TestRemovedSudoerKeepsNothing makes objects in every way in which a sudoer can hand on the rights of
// sudo without sudo, and then removes the sudoer.
//
// Attack: with sudo, a caller binds itself to `admin`; then, without sudo, it makes another binding, or a role,
// and deletes the first
// Was: got through
// Answer: the object records its author, with sudo or without; it is in `status.leftovers`, or removed
//
// Attack: a sudoer lets a friend, or a service account, make a binding for it, or widens an operator's binding
// Was: got through
// Answer: what a person in no list made is removed; what a service account made, and what was changed, is reported
// by name
//
// Attack: with `admin` from a binding of its own, a caller takes the marks off without sudo, or says that an
// administrator made the object
// Answer: 403
func TestRemovedSudoerKeepsNothing(t *testing.T) {
	lns := tenant("handed")
	lns.Spec.Sudo.AtRevocation = v1alpha1.RemoveLeftovers
	shared.make(t, lns)
	sudo, plain := shared.sudo(t, "handed-sudoer", lns.Name), shared.as(t, "handed-sudoer")
	operator := shared.everywhere(t, "handed-operator")
	theirs, pipelines := bindingTo("ClusterRole", "view", lns.Name, "theirs", "somebody"), bindingToRobot(lns.Name, "pipelines", "kube-public")
	create(t, operator, theirs, pipelines)
	if theirs.Labels[names.MadeFromOutside] != "true" || theirs.Labels[names.MadeWithSudo] != "" {
		t.Errorf("an operator's binding: %v", theirs.Labels)
	}
	first := bindingTo("ClusterRole", "admin", lns.Name, "first", "handed-sudoer", "handed-friend")
	create(t, sudo, first, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "robot"}}, bindingToRobot(lns.Name, "robots", lns.Name))
	for _, who := range []string{"handed-sudoer", "handed-friend"} {
		shared.allowed(t, who, nil, "create", "rolebindings", lns.Name, "")
	}
	for _, namespace := range []string{lns.Name, "kube-public"} {
		shared.allowed(t, "system:serviceaccount:"+namespace+":robot", nil, "create", "rolebindings", lns.Name, "")
	}
	for maker, made := range map[string]struct {
		client  client.Client
		objects []client.Object
	}{
		"handed-sudoer": {plain, []client.Object{bindingTo("ClusterRole", "admin", lns.Name, "second", "handed-sudoer"),
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "second"}}}},
		"handed-friend":                           {shared.as(t, "handed-friend"), []client.Object{bindingTo("ClusterRole", "admin", lns.Name, "third", "handed-sudoer")}},
		"system:serviceaccount:handed:robot":      {shared.robot(t, lns.Name), []client.Object{bindingTo("ClusterRole", "edit", lns.Name, "by-robot", "handed-sudoer")}},
		"system:serviceaccount:kube-public:robot": {shared.robot(t, "kube-public"), []client.Object{bindingTo("ClusterRole", "view", lns.Name, "by-pipeline", "somebody")}},
	} {
		create(t, made.client, made.objects...)
		for _, object := range made.objects {
			if object.GetLabels()[names.MadeWithSudo] != "true" || object.GetAnnotations()[names.Maker] != maker {
				t.Errorf("%s made %T %s: %v %v", maker, object, object.GetName(), object.GetLabels(), object.GetAnnotations())
			}
		}
	}
	before := theirs.DeepCopy()
	theirs.Subjects = append(theirs.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "handed-sudoer"})
	if err := plain.Patch(t.Context(), theirs, client.MergeFrom(before)); err != nil || theirs.Annotations[names.Changers] != "handed-sudoer" {
		t.Errorf("an operator's binding is widened: %v %v", theirs.Annotations, err)
	}
	// Without sudo, the marks stay as well.
	second := bindingTo("ClusterRole", "admin", lns.Name, "second")
	shared.there(t, second)
	for what, hide := range map[string]func(object client.Object){
		"the label": func(object client.Object) { object.SetLabels(nil) },
		"the maker": func(object client.Object) { object.SetAnnotations(map[string]string{names.Maker: "somebody"}) },
		"an outside mark": func(object client.Object) {
			object.SetLabels(map[string]string{names.MadeWithSudo: "true", names.MadeFromOutside: "true"})
		},
	} {
		hidden := second.DeepCopy()
		hide(hidden)
		if err := plain.Patch(t.Context(), hidden, client.MergeFrom(second)); !forbidden(err) {
			t.Errorf("%s without sudo: %v", what, err)
		}
	}
	forged := bindingTo("ClusterRole", "view", lns.Name, "forged")
	forged.Labels = map[string]string{names.MadeFromOutside: "true"}
	if err := plain.Create(t.Context(), forged); !forbidden(err) {
		t.Errorf("made from outside, by a sudoer: %v", err)
	}
	if err := sudo.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = nil })
	for _, object := range []client.Object{second, &rbacv1.Role{ObjectMeta: second.ObjectMeta}, bindingTo("", "", lns.Name, "third"), bindingTo("", "", lns.Name, "robots")} {
		shared.gone(t, object)
	}
	shared.reports(t, lns, "[{RoleBinding by-pipeline system:serviceaccount:kube-public:robot} {RoleBinding by-robot system:serviceaccount:handed:robot} {RoleBinding theirs handed-sudoer}]")
	if meta.IsStatusConditionTrue(lns.Status.Conditions, v1alpha1.ConditionClean) {
		t.Errorf("conditions: %+v", lns.Status.Conditions)
	}
	shared.refused(t, "handed-sudoer", nil, "create", "rolebindings", lns.Name, "")
	shared.there(t, pipelines)
	// An administrator looks at them, and says that they may stay.
	for _, name := range []string{"by-pipeline", "by-robot", "theirs"} {
		rb := bindingTo("", "", lns.Name, name)
		shared.there(t, rb)
		before := rb.DeepCopy()
		rb.Labels = map[string]string{names.MadeFromOutside: "true"}
		if err := operator.Patch(t.Context(), rb, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	shared.reports(t, lns, "[]")
}

// TestUserWhoLeavesMayHaveBeenARobot checks that what a service account of the tenant made is reported
// when a user leaves, who could act as the service account, and that it is not while nobody has left.
//
// Attack: a user impersonates a service account of its tenant that may write bindings, and leaves
// Was: got through
// Answer: what the service account made is in `status.leftovers`
func TestUserWhoLeavesMayHaveBeenARobot(t *testing.T) {
	lns := shared.make(t, tenant("robots"))
	sudo := shared.sudo(t, "robots-sudoer", lns.Name)
	create(t, sudo, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "robot"}}, bindingToRobot(lns.Name, "robots", lns.Name))
	shared.allowed(t, "system:serviceaccount:robots:robot", nil, "create", "rolebindings", lns.Name, "")
	create(t, shared.robot(t, lns.Name), bindingTo("ClusterRole", "view", lns.Name, "by-robot", "robots-user"))
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Managers = nil })
	shared.reports(t, lns, "[]")
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Users = nil })
	shared.reports(t, lns, "[{RoleBinding by-robot system:serviceaccount:robots:robot}]")
	if err := shared.client.Delete(t.Context(), bindingTo("", "", lns.Name, "by-robot")); err != nil {
		t.Fatal(err)
	}
	shared.reports(t, lns, "[]")
}

// TestUnmarkedBindings checks what happens with bindings from before a version that records authors.
//
// Attack: a former sudoer keeps a binding from the time when authors were not recorded
// Answer: the condition `Clean` is Unknown, and the binding is in `status.leftovers`, until an administrator
// deletes it or says that it may stay
func TestUnmarkedBindings(t *testing.T) {
	lns := shared.make(t, tenant("unmarked"))
	old := bindingTo("ClusterRole", "view", lns.Name, "old", "unmarked-friend")
	create(t, shared.client, old)
	before := old.DeepCopy()
	old.Labels = nil
	if err := shared.client.Patch(t.Context(), old, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	clean := func(status metav1.ConditionStatus, reason string) {
		t.Helper()
		wait(t, fmt.Sprintf("Clean is %s", status), func() error {
			if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
				return err
			}
			if c := meta.FindStatusCondition(lns.Status.Conditions, v1alpha1.ConditionClean); c == nil || c.Status != status || c.Reason != reason {
				return fmt.Errorf("%+v", c)
			}
			return nil
		})
	}
	clean(metav1.ConditionTrue, "NothingFound")
	// The earlier version said this.
	wait(t, "the status is written", func() error {
		if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
			return err
		}
		meta.FindStatusCondition(lns.Status.Conditions, v1alpha1.ConditionClean).Reason = "NothingLeft"
		return shared.client.Status().Update(t.Context(), lns)
	})
	clean(metav1.ConditionUnknown, "UnknownAuthor")
	shared.reports(t, lns, "[{RoleBinding old }]")
	// Nobody removes it, even if everything of former sudoers is removed.
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers, s.Sudo.AtRevocation = nil, v1alpha1.RemoveLeftovers })
	shared.there(t, old)
	before = old.DeepCopy()
	old.Labels = map[string]string{names.MadeFromOutside: "true"}
	if err := shared.client.Patch(t.Context(), old, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	clean(metav1.ConditionTrue, "NothingFound")
}

// TestFinalizersKeepNoBindingOfADeletedTenant deletes a tenant with a binding that a finalizer holds.
//
// Attack: with sudo, a caller creates a binding with a finalizer, so that it stays, and gives rights, after the
// tenant and its namespace are deleted
// Was: got through
// Answer: the controller removes the finalizer of every binding in the namespace
func TestFinalizersKeepNoBindingOfADeletedTenant(t *testing.T) {
	lns := shared.make(t, tenant("held-back"))
	sudo := shared.sudo(t, "held-back-sudoer", lns.Name)
	door := bindingTo("ClusterRole", "edit", lns.Name, "door", "held-back-sudoer")
	door.Finalizers = []string{"example.com/stay"}
	create(t, sudo, door)
	shared.allowed(t, "held-back-sudoer", nil, "update", "secrets", lns.Name, "")
	if err := shared.client.Delete(t.Context(), lns); err != nil {
		t.Fatal(err)
	}
	shared.gone(t, lns)
	err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(door), door)
	if client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the binding: %v", errors.Join(err, fmt.Errorf("%v", door.Finalizers)))
	}
	shared.refused(t, "held-back-sudoer", nil, "update", "secrets", lns.Name, "")
}
