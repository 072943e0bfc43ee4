// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	authority "kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestDelegatedLeftovers checks that objects created by a delegation of sudo have a label, whether
// the delegation was selected by name or by UID, and that they are reported or deleted once their
// creator is no longer a sudoer.
//
// Attack: by a delegation of sudo, a caller creates or changes something to use it later, under another name; it
// selects the delegation only by UID
// Answer: the object records who did it; it is in `status.leftovers`, or removed
//
// Attack: a user creates an object by a delegation that allows every verb and is not one of sudo, so that the
// object is taken for one of sudo and removed
// Answer: the object does not get the label of objects that were created with sudo
func TestDelegatedLeftovers(t *testing.T) {
	c := byDelegation(t)
	lns := tenant("dl")
	ops := v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: "dl-ops"}
	robot := v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Name: "robot", Namespace: "kube-system"}
	lns.Spec.Sudoers = []v1alpha1.Subject{user("dl-sudoer"), ops, robot}
	c.make(t, lns)
	theirs := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "theirs"},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}}
	if err := c.client.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	for i, tc := range []struct {
		who    v1alpha1.Subject
		name   string
		groups []string
		maker  string
	}{
		{who: user("dl-sudoer"), name: "dl-sudoer", maker: "dl-sudoer"},
		{who: ops, name: "dl-olga", groups: []string{"dl-ops"}, maker: names.SudoUser(lns.Name)},
		{who: robot, name: names.Username(robot), maker: names.Username(robot)},
	} {
		d := delegationOf(t, lns, tc.who)
		for how, ref := range map[string]selection.AuthorityReference{
			"name": byName(d), "uid": {Kind: selection.AuthorityDelegationKind, UID: d.UID},
		} {
			sudo := c.under(t, ref, tc.name, tc.groups...)
			// The server enforces the policies only a moment after they were created.
			wait(t, "objects created with sudo get the label", func() error {
				made := secret(lns.Name, fmt.Sprintf("by-%s-%d", how, i))
				made.Annotations = map[string]string{names.Maker: "somebody-else"}
				if err := sudo.Create(t.Context(), made); err != nil {
					return err
				}
				if made.Labels[names.MadeWithSudo] != "true" || made.Annotations[names.Maker] != tc.maker {
					return errors.Join(fmt.Errorf("%v %v", made.Labels, made.Annotations), c.client.Delete(t.Context(), made))
				}
				hidden := made.DeepCopy()
				hidden.Labels = nil
				if err := sudo.Patch(t.Context(), hidden, client.MergeFrom(made)); !apierrors.IsForbidden(err) {
					t.Errorf("the label was removed: %v", err)
				}
				return nil
			})
			before := theirs.DeepCopy()
			theirs.Subjects = append(theirs.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: fmt.Sprintf("dl-friend-%d-%s", i, how)})
			if err := sudo.Patch(t.Context(), theirs, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := "dl-sudoer\n" + names.SudoUser(lns.Name) + "\n" + names.Username(robot); theirs.Annotations[names.Changers] != want {
		t.Errorf("who changed it: %q", theirs.Annotations)
	}
	// An administrator delegates all permissions to a user. A request by this delegation is not a
	// use of sudo.
	admin := &authority.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "dl-all"}, Spec: authority.AuthorityDelegationSpec{
		Delegates: []authority.Delegate{{Kind: authority.DelegateUser, Name: "dl-deputy"}}, Scope: authority.DelegationScope{Cluster: true},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}, IfLost: authority.LossWithdraw,
	}}
	if err := c.client.Create(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.client.Delete(t.Context(), admin); client.IgnoreNotFound(err) != nil {
			t.Log(err)
		}
	})
	own := secret(lns.Name, "own")
	deputy := c.under(t, selection.AuthorityReference{Kind: selection.AuthorityDelegationKind, Name: admin.Name}, "dl-deputy")
	if err := deputy.Create(t.Context(), own); err != nil || own.Labels[names.MadeWithSudo] != "" {
		t.Errorf("by another delegation: %v, %v", own.Labels, err)
	}
	reported := func(want string) {
		t.Helper()
		if got := fmt.Sprint(lns.Status.Leftovers); got != want {
			t.Errorf("reported: %s\nwanted %s", got, want)
		}
	}
	c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = []v1alpha1.Subject{ops, robot} })
	reported("[{RoleBinding theirs dl-sudoer} {Secret by-name-0 dl-sudoer} {Secret by-uid-0 dl-sudoer}]")
	c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) {
		s.Sudoers, s.Sudo.AtRevocation = []v1alpha1.Subject{ops}, v1alpha1.RemoveLeftovers
	})
	// What the service account made is reported, and stays: a person can have acted as the account.
	for name, goes := range map[string]bool{"by-name-0": true, "by-uid-0": true, "by-uid-2": false, "by-name-1": false, "by-uid-1": false, "own": false} {
		if goes {
			c.gone(t, secret(lns.Name, name))
		} else {
			c.there(t, secret(lns.Name, name))
		}
	}
	c.there(t, theirs)
	account := names.Username(robot)
	c.reports(t, lns, fmt.Sprintf("[{RoleBinding theirs dl-sudoer} {RoleBinding theirs %s} {Secret by-name-2 %s} {Secret by-uid-2 %s}]", account, account, account))
}

// TestSudoModes checks, on a server that serves delegations, that a controller that is started in
// another mode of sudo revokes the permissions that the former mode granted.
//
// Attack: a sudoer keeps rights of a mode of sudo that an administrator has turned off
// Answer: 403 in both directions; the mode that is on continues to work
func TestSudoModes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "delegation", "--feature-gates", gates)
	var k *controller
	start := func(args ...string) {
		t.Helper()
		if k != nil {
			if err := k.stop(); err != nil {
				t.Fatal(err)
			}
		}
		k = c.run(t, args...)
	}
	start()
	lns := c.make(t, tenant("modes"))
	me, group := user("modes-sudoer"), names.SudoGroup("modes")
	c.allowed(t, me.Name, nil, "impersonate", "groups", "", group)
	if len(c.delegated(t, lns.Name)) > 0 {
		t.Error("something is delegated")
	}
	for range 2 {
		start("--sudo", "Delegation", "--field-permissions")
		wait(t, "sudo is delegated", func() error {
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
				return err
			}
			if len(lns.Status.Delegations) != 1 {
				return fmt.Errorf("%+v", lns.Status)
			}
			return nil
		})
		sudo := c.under(t, byName(delegationOf(t, lns, me)), me.Name)
		works(t, sudo, lns.Name)
		c.refused(t, me.Name, nil, "impersonate", "groups", "", group)
		c.refused(t, me.Name, nil, "impersonate", "users", "", names.SudoerUser(lns.Name, me.Name))
		start()
		c.allowed(t, me.Name, nil, "impersonate", "groups", "", group)
		c.allowed(t, me.Name, nil, "impersonate", "users", "", names.SudoerUser(lns.Name, me.Name))
		c.noneDelegated(t, lns.Name)
		ended(t, sudo, lns.Name)
	}
	// A controller does not start in the mode Delegation if the server does not serve delegations,
	// and it does not start in an unknown mode.
	if k, err := shared.startController("--sudo", "Delegation"); err == nil {
		t.Errorf("it runs: %v", k.stop())
	}
	if k, err := shared.startController("--sudo", "Nothing"); err == nil {
		t.Errorf("it runs: %v", k.stop())
	}
}
