// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// holdUp puts a finalizer on the RoleBinding, so that it stays when it is deleted.
func holdUp(t *testing.T, c client.Client, namespace, name string) *rbacv1.RoleBinding {
	t.Helper()
	rb := &rbacv1.RoleBinding{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, rb); err != nil {
		t.Fatal(err)
	}
	before := rb.DeepCopy()
	rb.Finalizers = append(rb.Finalizers, "example.com/stay")
	if err := c.Patch(t.Context(), rb, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	return rb
}

// TestFinalizersKeepNoRights checks that a binding gives nothing after its removal, even if
// somebody put a finalizer on it. A binding with a finalizer that the lists still grant stays.
//
// Attack: with sudo, a caller puts a finalizer on a binding of the controller, so that it stays when it is
// deleted; or deletes such a binding, so that it is about to be deleted for ever
// Answer: the controller removes the finalizer of what it deletes, and creates anew what the lists grant
func TestFinalizersKeepNoRights(t *testing.T) {
	lns := tenant("held")
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, user("held-next"))
	shared.make(t, lns)
	group := names.SudoGroup(lns.Name)
	shared.allowed(t, "x", []string{group}, "update", "rolebindings", lns.Name, "")
	shared.allowed(t, "held-user", nil, "create", "deployments", lns.Name, "")
	sudo := shared.as(t, "held-sudoer", group)
	users := holdUp(t, sudo, lns.Name, names.UsersBinding)
	holdUp(t, sudo, lns.Name, names.SudoBinding)
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = s.Sudoers[1:] })
	shared.allowed(t, "held-user", nil, "create", "deployments", lns.Name, "")
	// A binding that the lists still grant is deleted, and its finalizer holds it up.
	uid := users.UID
	if err := shared.as(t, "held-next", group).Delete(t.Context(), users); err != nil {
		t.Fatal(err)
	}
	wait(t, "the binding is made anew", func() error {
		rb := &rbacv1.RoleBinding{}
		if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(users), rb); err != nil {
			return err
		}
		if rb.UID == uid || rb.DeletionTimestamp != nil || len(rb.Finalizers) > 0 {
			return fmt.Errorf("%s is the one that was deleted", rb.Name)
		}
		return nil
	})
	shared.allowed(t, "held-user", nil, "create", "deployments", lns.Name, "")
	// Without members, both bindings go, whatever finalizers they have.
	holdUp(t, shared.as(t, "held-next", group), lns.Name, names.UsersBinding)
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Users, s.Sudoers = nil, nil })
	shared.refused(t, "held-user", nil, "create", "deployments", lns.Name, "")
	shared.refused(t, "x", []string{group}, "create", "secrets", lns.Name, "")
	for _, name := range []string{names.UsersBinding, names.SudoBinding} {
		shared.gone(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: name}})
	}
}

// TestRevokedWhileGrantsFail checks that a sudoer who is removed loses sudo even if the controller
// can't create a binding in the namespace. The status says so until the binding is there.
//
// Attack: with sudo, a caller makes the creation of a binding fail, by a quota or by a binding of the same name
// to another role that a finalizer holds, so that the controller does not get to the removal of a sudoer
// Answer: the controller revokes first and goes on after an error; the condition Ready names the failure
func TestRevokedWhileGrantsFail(t *testing.T) {
	lns := tenant("blocked")
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, user("blocked-next"))
	shared.make(t, lns)
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudo.Allow = []v1alpha1.SudoAllowance{v1alpha1.AllowQuotas} })
	group := names.SudoGroup(lns.Name)
	shared.allowed(t, "x", []string{group}, "create", "resourcequotas", lns.Name, "")
	shared.allowed(t, "x", []string{group}, "create", "rolebindings", lns.Name, "")
	shared.allowed(t, "blocked-sudoer", nil, "impersonate", "groups", "", group)
	sudo := shared.as(t, "blocked-sudoer", group)
	// A binding to another role takes the name while the controller does not run.
	users := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: names.UsersBinding}}
	if err := theController.kill(); err != nil {
		t.Fatal(err)
	}
	if err := sudo.Delete(t.Context(), users); err != nil {
		t.Fatal(err)
	}
	other := bindingTo("ClusterRole", "view", lns.Name, names.UsersBinding, "blocked-sudoer")
	other.Finalizers = []string{"example.com/stay"}
	create(t, sudo, other)
	var err error
	if theController, err = shared.startController(); err != nil {
		t.Fatal(err)
	}
	wait(t, "it is put right", func() error { return shared.asWanted(t, lns) })
	// A quota allows no binding more.
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/rolebindings.rbac.authorization.k8s.io": resource.MustParse("0")}}}
	create(t, sudo, quota)
	// This cluster has no controller that fills the status.
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: quota.Spec.Hard}
	if err := shared.client.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	wait(t, "the controller can't create the binding", func() error {
		if err := client.IgnoreNotFound(sudo.Delete(t.Context(), users)); err != nil {
			return err
		}
		if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
			return err
		}
		if ready := meta.FindStatusCondition(lns.Status.Conditions, v1alpha1.ConditionReady); ready.Reason != "GrantsFailed" ||
			!strings.Contains(ready.Message, names.UsersBinding) || len(ready.Message) > 1024 {
			return fmt.Errorf("ready: %+v", ready)
		}
		return nil
	})
	generation := lns.Status.ObservedGeneration
	before := lns.DeepCopy()
	lns.Spec.Sudoers = lns.Spec.Sudoers[1:]
	if err := shared.client.Patch(t.Context(), lns, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	shared.refused(t, "blocked-sudoer", nil, "impersonate", "groups", "", group)
	shared.allowed(t, "blocked-next", nil, "impersonate", "groups", "", group)
	if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
		t.Fatal(err)
	}
	if lns.Status.ObservedGeneration != generation {
		t.Errorf("the generation %d was observed before its grants succeeded", lns.Status.ObservedGeneration)
	}
	if err := shared.client.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	// The next attempt follows a change, or a wait that gets longer with each failure.
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Users = append(s.Users, user("blocked-more")) })
	if !meta.IsStatusConditionTrue(lns.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("conditions: %+v", lns.Status.Conditions)
	}
	shared.allowed(t, "blocked-user", nil, "create", "deployments", lns.Name, "")
}
