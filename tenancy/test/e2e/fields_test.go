// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestGranularServer runs on a server that authorizes single fields, where managers have neither update
// nor patch. With the admission policy, managers remove sudoers and add none. Then the test deletes
// the policy, and checks what the server alone still refuses.
//
// Attack: a manager without `update` writes the list of sudoers after somebody deleted the admission policy,
// on a server that authorizes single fields
// Answer: 403 for another order, and for `spec.sudo`, finalizers, owners and the status; **without the policy
// and without the webhook, the manager adds a sudoer**, as it does with `update`
//
// Attack: a caller with a part of the verbs of a manager removes a sudoer, or one of another kind
// Answer: 403, naming the verb that is missing
func TestGranularServer(t *testing.T) {
	c := newCluster(t, "granular")
	k := c.run(t, "--field-permissions")
	if code, err := k.get("/readyz"); err != nil || code != 200 {
		t.Errorf("/readyz: %d, %v", code, err)
	}
	t.Run("a manager", func(t *testing.T) {
		managerIsNoSudoer(t, c)
		c.refused(t, "manager-manager", nil, "update", "lnamespaces", "", "manager")
		c.refused(t, "manager-manager", nil, "patch", "lnamespaces", "", "manager")
	})
	t.Run("a manager removes sudoers", func(t *testing.T) { managerWithoutUpdateRemovesSudoers(t, c) })
	t.Run("each verb", func(t *testing.T) { removalTakesEachVerb(t, c) })
	t.Run("without the policy", func(t *testing.T) { fieldsWithoutThePolicy(t, c) })
}

func managerWithoutUpdateRemovesSudoers(t *testing.T, c *cluster) {
	lns := c.make(t, manySudoers("fewer"))
	c.allowed(t, "fewer-manager", nil, names.FieldVerb(names.SudoersRemoval), "lnamespaces", "", lns.Name)
	c.removesSudoers(t, lns)
	c.refused(t, "fewer-manager", nil, "update", "lnamespaces", "", lns.Name)
	c.refused(t, "fewer-manager", nil, "patch", "lnamespaces", "", lns.Name)
}

// removalTakesEachVerb checks which verbs are needed to remove a sudoer without update, and that the verb
// for the list is enough for every change of the list, on all LNamespaces if the change adds a name.
func removalTakesEachVerb(t *testing.T, c *cluster) {
	lns := tenant("verbs")
	group := v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: "verbs-operators"}
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, group)
	c.make(t, lns)
	one, more := lns.Spec.Sudoers[0], user("verbs-more")
	removal, list := names.FieldVerb(names.SudoersRemoval), names.FieldVerb(names.Sudoers)
	users := names.KindVerb(names.SudoersRemoval, v1alpha1.UserKind)
	groups := names.KindVerb(names.SudoersRemoval, v1alpha1.GroupKind)
	const removesUser, removesGroup, reorders, adds = "removes a user", "removes a group", "reorders", "adds, replaces"
	const onAll = "the list, on all LNamespaces"
	for i, tc := range []struct {
		name    string
		verbs   []string
		allowed []string
		missing string
	}{
		{"for users", []string{"granular", removal, users}, []string{removesUser}, ""},
		{"for groups", []string{"granular", removal, groups}, []string{removesGroup}, ""},
		{"for both", []string{"granular", removal, users, groups}, []string{removesUser, removesGroup}, ""},
		{"without the kind", []string{"granular", removal}, nil, users},
		{"without the verb of the policy", []string{"granular", users, groups}, nil, removal + " is enough"},
		{"without granular", []string{removal, users, groups}, nil, "cannot patch"},
		{"other lists", []string{"granular", names.FieldVerb(names.Users), names.FieldVerb(names.Managers)}, nil, users},
		{"the list", []string{"granular", list}, []string{removesUser, removesGroup, reorders}, ""},
		{onAll, []string{"granular", list}, []string{removesUser, removesGroup, reorders, adds}, ""},
		{"patch", []string{"patch", removal}, []string{removesUser, removesGroup}, ""},
	} {
		who := fmt.Sprintf("verbs-%d", i)
		name := lns.Name
		if tc.name == onAll {
			name = ""
		}
		c.holds(t, who, name, tc.verbs...)
		write := func(sudoers []v1alpha1.Subject) error {
			after := lns.DeepCopy()
			after.Spec.Sudoers = sudoers
			return c.as(t, who).Patch(t.Context(), after, client.MergeFrom(lns), client.DryRunAll)
		}
		for what, lists := range map[string][][]v1alpha1.Subject{
			removesUser: {{group}}, removesGroup: {{one}}, reorders: {{group, one}}, adds: {{one, group, more}, {more, group}},
		} {
			for _, sudoers := range lists {
				err := write(sudoers)
				if slices.Contains(tc.allowed, what) {
					if err != nil {
						t.Errorf("%s, %s, %v: %v", tc.name, what, sudoers, err)
					}
					continue
				}
				if !forbidden(err) || what == removesUser && !strings.Contains(err.Error(), tc.missing) {
					t.Errorf("%s, %s, %v: %v", tc.name, what, sudoers, err)
				}
			}
		}
	}
}

// fieldsWithoutThePolicy deletes the admission policy, and checks what the permissions of fields still
// refuse. They do not tell a removal from an addition, so they let a manager add a sudoer.
func fieldsWithoutThePolicy(t *testing.T, c *cluster) {
	lns := c.make(t, manySudoers("unguarded"))
	c.allowed(t, "unguarded-manager", nil, names.FieldVerb(names.SudoersRemoval), "lnamespaces", "", lns.Name)
	for _, kind := range []string{"validatingadmissionpolicybinding", "validatingadmissionpolicy"} {
		if out, err := c.kubectl("admin", "delete", kind, "lnamespace-lists"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	manager := c.as(t, "unguarded-manager")
	wait(t, "no policy refuses a new sudoer", func() error {
		after := lns.DeepCopy()
		after.Spec.Sudoers = append(after.Spec.Sudoers, user("unguarded-manager"))
		return manager.Patch(t.Context(), after, client.MergeFrom(lns), client.DryRunAll)
	})
	managerWritesOnlyLists(t, c, lns)
	order := lns.DeepCopy()
	slices.Reverse(order.Spec.Sudoers)
	if err := manager.Patch(t.Context(), order, client.MergeFrom(lns)); !forbidden(err) {
		t.Errorf("another order of the list: %v", err)
	}
	c.holds(t, "unguarded-other", lns.Name, "granular", names.FieldVerb(names.Users))
	added := lns.DeepCopy()
	added.Spec.Sudoers = append(added.Spec.Sudoers, user("unguarded-other"))
	if err := c.as(t, "unguarded-other").Patch(t.Context(), added, client.MergeFrom(lns)); !forbidden(err) {
		t.Errorf("a holder of another list: %v", err)
	}
}
