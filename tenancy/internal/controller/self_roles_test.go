// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/internal/controller"
	"kube-granular.dev/tenancy/internal/names"
)

// TestOnlyOwnSelfRolesGo checks that the controller deletes the roles by which an earlier version let sudoers impersonate
// themselves, and the binding of the same name only if it carries the labels itself.
//
// Attack: a caller that may create ClusterRoles makes an empty one with the labels of such a role and the name of an
// administrator's ClusterRoleBinding, so that the controller deletes that binding
// Was: got through
// Answer: the controller deletes the role of the caller; the binding stays
func TestOnlyOwnSelfRolesGo(t *testing.T) {
	const name = "admins"
	own := map[string]string{names.ManagedBy: names.Manager, names.SelfImpersonator: "x"}
	for what, tc := range map[string]struct {
		role, binding         map[string]string
		roleGoes, bindingGoes bool
	}{
		"both of before":                {own, own, true, true},
		"the binding of somebody else":  {own, nil, true, false},
		"the role of somebody else":     {nil, own, false, true},
		"a binding of a tenant":         {own, map[string]string{names.ManagedBy: names.Manager}, true, false},
		"a binding with half the label": {own, map[string]string{names.SelfImpersonator: "x"}, true, false},
	} {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: tc.role}}
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: tc.binding}}
		api := picky(t, role, binding)
		if err := controller.ReconcileSelfRoles(t.Context(), api, name); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if gone := api.Get(t.Context(), client.ObjectKey{Name: name}, role) != nil; gone != tc.roleGoes {
			t.Errorf("%s: the role is gone: %t", what, gone)
		}
		if gone := api.Get(t.Context(), client.ObjectKey{Name: name}, binding) != nil; gone != tc.bindingGoes {
			t.Errorf("%s: the binding is gone: %t", what, gone)
		}
	}
}

// TestForeignBindingsStay checks that a ClusterRoleBinding with a name of the controller that binds another role, and lacks the
// controller's label, is neither deleted nor written. One whose label somebody removed is.
//
// Attack: a person creates an LNamespace whose name makes the controller replace or delete a binding of an administrator
// Was: got through
// Answer: the binding stays, and the condition `Ready` of the LNamespace names it
func TestForeignBindingsStay(t *testing.T) {
	name, ours := names.ManagerRole("team"), map[string]string{names.ManagedBy: names.Manager}
	for what, tc := range map[string]struct {
		labels map[string]string
		role   string
		stays  bool
	}{
		"of the controller":            {ours, name, false},
		"its label was removed":        {nil, name, false},
		"of the controller, misplaced": {ours, "view", false},
		"of an administrator":          {nil, "view", true},
		"of an intruder":               {nil, names.ImpersonatorRole("team"), false},
	} {
		binding := func() *rbacv1.ClusterRoleBinding {
			return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: tc.labels}, Subjects: subjects("ann"),
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: tc.role}}
		}
		want := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: ours}, Subjects: subjects("mia"),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}
		api := picky(t, binding())
		if err := controller.Ensure(t.Context(), api, want); (err != nil) != tc.stays {
			t.Errorf("%s: written: %v", what, err)
		}
		have := &rbacv1.ClusterRoleBinding{}
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(want), have); err != nil || (have.Subjects[0].Name == "ann") != tc.stays {
			t.Errorf("%s: %v, %v", what, have.Subjects, err)
		}
		api = picky(t, binding())
		gone, err := controller.Remove(t.Context(), api, api, api, want, controller.Server)
		if err != nil || gone == tc.stays || (api.Get(t.Context(), client.ObjectKeyFromObject(want), have) != nil) == tc.stays {
			t.Errorf("%s: deleted: %t, %v", what, gone, err)
		}
	}
}
