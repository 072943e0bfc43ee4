// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	authority "kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// works waits until the client sudo, which selects a delegation, can read the Secrets of a
// namespace.
func works(t *testing.T, sudo client.Client, namespace string) {
	t.Helper()
	wait(t, "sudo works in "+namespace, func() error { return sudo.List(t.Context(), &corev1.SecretList{}, client.InNamespace(namespace)) })
}

// ended checks that the client sudo, which selects a delegation, can't read the Secrets of a
// namespace. It does not wait: once the status reports the end, no request may succeed.
func ended(t *testing.T, sudo client.Client, namespace string) {
	t.Helper()
	if err := sudo.List(t.Context(), &corev1.SecretList{}, client.InNamespace(namespace)); !apierrors.IsForbidden(err) {
		t.Errorf("sudo still works in %s: %v", namespace, err)
	}
}

// delegated returns the delegations of sudo of a tenant from the server.
func (c *cluster) delegated(t *testing.T, tenant string) []authority.AuthorityDelegation {
	t.Helper()
	list := &authority.AuthorityDelegationList{}
	if err := c.client.List(t.Context(), list, client.MatchingFields{"status.delegator.username": names.SudoUser(tenant)}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// noneDelegated waits until a tenant has no delegations of sudo.
func (c *cluster) noneDelegated(t *testing.T, tenant string) {
	t.Helper()
	wait(t, "nothing is delegated in "+tenant, func() error {
		if left := c.delegated(t, tenant); len(left) > 0 {
			return fmt.Errorf("%d are left", len(left))
		}
		return nil
	})
}

// TestSudoDelegationEnds revokes sudo by delegation in each possible way.
//
// Attack: a sudoer whose name has left the list selects his delegation, by its name or UID
// Answer: 403 once the status reports that the list is in force; sudoers whose names stay can continue
//
// Attack: somebody creates a delegation of sudo by hand, or one that ended comes back under its name
// Answer: only the controller acts as its delegator; an object of the same name by another delegator is replaced
func TestSudoDelegationEnds(t *testing.T) {
	c := byDelegation(t)
	both := func(lns *v1alpha1.LNamespace, who v1alpha1.Subject, groups ...string) (byTheName, byTheUID client.Client) {
		d := delegationOf(t, lns, who)
		name := names.Username(who)
		if who.Kind == v1alpha1.GroupKind {
			name, groups = "de-member", []string{who.Name}
		}
		return c.under(t, byName(d), name, groups...), c.under(t, selection.AuthorityReference{Kind: selection.AuthorityDelegationKind, UID: d.UID}, name, groups...)
	}
	t.Run("a name leaves the list", func(t *testing.T) {
		lns := tenant("de-leave")
		group := v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: "de-ops"}
		robot := v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Name: "robot", Namespace: "kube-system"}
		// A sudoer who is twice in the list has one delegation.
		lns.Spec.Sudoers = []v1alpha1.Subject{user("de-a"), group, robot, user("de-b"), user("de-a")}
		c.make(t, lns)
		if got := c.delegated(t, lns.Name); len(got) != 4 || len(lns.Status.Delegations) != 4 {
			t.Fatalf("%d delegations, %+v", len(got), lns.Status)
		}
		stays, _ := both(lns, user("de-b"))
		for _, who := range []v1alpha1.Subject{user("de-a"), group, robot} {
			byTheName, byTheUID := both(lns, who)
			works(t, byTheName, lns.Name)
			works(t, byTheUID, lns.Name)
			if who == user("de-a") { // the list still has it once
				c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = s.Sudoers[:4] })
				works(t, byTheName, lns.Name)
			}
			c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = without(s.Sudoers, who) })
			ended(t, byTheName, lns.Name)
			ended(t, byTheUID, lns.Name)
			works(t, stays, lns.Name)
		}
		c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = nil })
		ended(t, stays, lns.Name)
		if left := c.delegated(t, lns.Name); len(left) > 0 || len(lns.Status.Delegations) > 0 {
			t.Errorf("left: %v, %+v", left, lns.Status)
		}
		// A sudoer who is added to the list again gets a new delegation.
		c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = []v1alpha1.Subject{user("de-a")} })
		again, _ := both(lns, user("de-a"))
		works(t, again, lns.Name)
	})
	t.Run("in two tenants at a time", func(t *testing.T) {
		a, b := tenant("de-two-a"), tenant("de-two-b")
		a.Spec.Sudoers, b.Spec.Sudoers = []v1alpha1.Subject{user("de-two")}, []v1alpha1.Subject{user("de-two")}
		c.make(t, a)
		c.make(t, b)
		inA, _ := both(a, user("de-two"))
		inB, _ := both(b, user("de-two"))
		works(t, inA, a.Name)
		works(t, inB, b.Name)
		ended(t, inA, b.Name)
		c.change(t, a, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = nil })
		ended(t, inA, a.Name)
		works(t, inB, b.Name)
		for range 5 { // one tenant adds the sudoer while the other removes it
			together := sync.WaitGroup{}
			together.Go(func() {
				c.change(t, a, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = []v1alpha1.Subject{user("de-two")} })
			})
			together.Go(func() { c.change(t, b, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = nil }) })
			together.Wait()
			ended(t, inB, b.Name)
			inA, _ := both(a, user("de-two"))
			works(t, inA, a.Name)
			a, b, inB = b, a, inA
		}
	})
	t.Run("the tenant is deleted", func(t *testing.T) {
		lns, other := c.make(t, tenant("de-gone")), c.make(t, tenant("de-stays"))
		sudo, _ := both(lns, user("de-gone-sudoer"))
		elsewhere, _ := both(other, user("de-stays-sudoer"))
		works(t, sudo, lns.Name)
		works(t, elsewhere, other.Name)
		if err := c.client.Delete(t.Context(), lns); err != nil {
			t.Fatal(err)
		}
		c.gone(t, lns)
		ended(t, sudo, "de-gone")
		if left := c.delegated(t, "de-gone"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		works(t, elsewhere, other.Name)
	})
	t.Run("its namespace goes", func(t *testing.T) {
		lns := c.make(t, tenant("de-home"))
		sudo, _ := both(lns, user("de-home-sudoer"))
		works(t, sudo, lns.Name)
		if err := c.client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: lns.Name}}); err != nil {
			t.Fatal(err)
		}
		c.waitReason(t, lns, "NamespaceTerminating")
		ended(t, sudo, lns.Name)
		if left := c.delegated(t, lns.Name); len(left) > 0 || len(lns.Status.Delegations) > 0 {
			t.Errorf("left: %v, %+v", left, lns.Status)
		}
	})
	t.Run("by hand", func(t *testing.T) {
		lns := c.make(t, tenant("de-hand"))
		me := user("de-hand-sudoer")
		sudo, _ := both(lns, me)
		works(t, sudo, lns.Name)
		have := func() *authority.AuthorityDelegation {
			d := &authority.AuthorityDelegation{}
			if err := c.client.Get(t.Context(), client.ObjectKey{Name: delegationOf(t, lns, me).Delegation}, d); err != nil {
				t.Fatal(err)
			}
			return d
		}
		for name, edit := range map[string]func(d *authority.AuthorityDelegation) error{
			"deleted": func(d *authority.AuthorityDelegation) error { return c.client.Delete(t.Context(), d) },
			"made to end": func(d *authority.AuthorityDelegation) error {
				before := d.DeepCopy()
				d.Spec.ExpirationTimestamp = &metav1.Time{Time: time.Now().Add(-time.Minute)}
				return c.client.Patch(t.Context(), d, client.MergeFrom(before))
			},
			"taken by another": func(d *authority.AuthorityDelegation) error {
				if err := theirs(t, c, d); err != nil {
					return err
				}
				return nil
			},
		} {
			d := have()
			if err := edit(d.DeepCopy()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			wait(t, name+": it is put right", func() error {
				now := &authority.AuthorityDelegation{}
				if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(d), now); err != nil {
					return err
				}
				if now.UID == d.UID || now.Status.Delegator.Username != names.SudoUser(lns.Name) || now.Spec.ExpirationTimestamp != nil {
					return fmt.Errorf("%s of %s until %v", now.UID, now.Status.Delegator.Username, now.Spec.ExpirationTimestamp)
				}
				if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
					return err
				}
				if delegationOf(t, lns, me).UID != now.UID {
					return errors.New("the status does not name the delegation yet")
				}
				return nil
			})
			works(t, sudo, lns.Name)
		}
		// The controller finds delegations by their delegator, and not by labels or owners.
		d := have()
		before := d.DeepCopy()
		d.Labels, d.OwnerReferences = nil, nil
		if err := c.client.Patch(t.Context(), d, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = nil })
		ended(t, sudo, lns.Name)
		c.noneDelegated(t, lns.Name)
		wait(t, "there is an event", func() error {
			list := &eventsv1.EventList{}
			if err := c.client.List(t.Context(), list, client.InNamespace("default")); err != nil {
				return err
			}
			for _, event := range list.Items {
				if event.Regarding.Name == lns.Name && event.Reason == "Repaired" && strings.Contains(event.Note, "AuthorityDelegation") {
					return nil
				}
			}
			return fmt.Errorf("%d events, none of them", len(list.Items))
		})
	})
	t.Run("a name that can't be a delegate's", func(t *testing.T) {
		lns := tenant("de-odd")
		odd := user("de\u200bodd") // A list may hold it, but it has a character that nobody sees.
		lns.Spec.Sudoers = append([]v1alpha1.Subject{odd}, lns.Spec.Sudoers...)
		c.make(t, lns)
		c.waitReason(t, lns, "DelegationRefused")
		sudo, _ := both(lns, user("de-odd-sudoer"))
		works(t, sudo, lns.Name)
		if len(lns.Status.Delegations) != 1 {
			t.Errorf("delegated: %+v", lns.Status.Delegations)
		}
		c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = without(s.Sudoers, odd) })
		if !meta.IsStatusConditionTrue(lns.Status.Conditions, v1alpha1.ConditionReady) {
			t.Errorf("without that name: %+v", lns.Status.Conditions)
		}
	})
	t.Run("while the controller is down", func(t *testing.T) {
		lns, gone := c.make(t, tenant("de-down")), c.make(t, tenant("de-unfinalized"))
		sudo, _ := both(lns, user("de-down-sudoer"))
		orphan, _ := both(gone, user("de-unfinalized-sudoer"))
		works(t, sudo, lns.Name)
		works(t, orphan, gone.Name)
		if err := delegating.controller.kill(); err != nil {
			t.Fatal(err)
		}
		before := lns.DeepCopy()
		lns.Spec.Sudoers = nil
		if err := c.client.Patch(t.Context(), lns, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		before = gone.DeepCopy()
		gone.Finalizers = nil
		if err := c.client.Patch(t.Context(), gone, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		if err := c.client.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		works(t, sudo, lns.Name) // no controller runs that could revoke it
		var err error
		if delegating.controller, err = c.startDelegating(); err != nil {
			t.Fatal(err)
		}
		c.settled(t, lns)
		ended(t, sudo, lns.Name)
		c.noneDelegated(t, "de-unfinalized")
		ended(t, orphan, "de-unfinalized")
	})
}

func without(list []v1alpha1.Subject, one v1alpha1.Subject) []v1alpha1.Subject {
	var rest []v1alpha1.Subject
	for _, s := range list {
		if s != one {
			rest = append(rest, s)
		}
	}
	return rest
}

// theirs deletes the delegation of sudo d, and creates a delegation of another user with the same
// name.
func theirs(t *testing.T, c *cluster, d *authority.AuthorityDelegation) error {
	squatter := "de-squatter"
	meta := metav1.ObjectMeta{Name: squatter}
	rule := rbacv1.PolicyRule{APIGroups: []string{authority.GroupName}, Resources: []string{"authoritydelegations"},
		Verbs: []string{"create", "delegate"}}
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: squatter},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: squatter}}},
	} {
		if err := client.IgnoreAlreadyExists(c.client.Create(t.Context(), object)); err != nil {
			return err
		}
	}
	mine := &authority.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: d.Name, Labels: d.Labels}, Spec: d.Spec}
	as := c.as(t, squatter)
	wait(t, "others may delegate", func() error {
		err := as.Create(context.Background(), mine.DeepCopy(), client.DryRunAll)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	// The controller soon creates its delegation again, so this is repeated until the other user was
	// faster.
	for {
		if err := c.client.Delete(t.Context(), d); client.IgnoreNotFound(err) != nil {
			return err
		}
		err := as.Create(t.Context(), mine.DeepCopy())
		if err == nil || !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
}
