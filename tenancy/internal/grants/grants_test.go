// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package grants_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/names"
)

func called(objects []client.Object) []string {
	var list []string
	for _, o := range objects {
		list = append(list, fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName()))
	}
	slices.Sort(list)
	return list
}

// TestAll checks that a tenant without members has no objects, and that All returns every object
// that a tenant can have.
func TestAll(t *testing.T) {
	people := []v1alpha1.Subject{{Kind: v1alpha1.UserKind, Name: "ada"}}
	others := append([]v1alpha1.Subject{{Kind: v1alpha1.GroupKind, Name: "ops"}}, people...)
	full := v1alpha1.LNamespaceSpec{Users: people, Managers: people, Sudoers: others, Sudo: v1alpha1.Sudo{Allow: []v1alpha1.SudoAllowance{
		v1alpha1.AllowDelete, v1alpha1.AllowLists, v1alpha1.AllowNamespace, v1alpha1.AllowQuotas,
	}}}
	all := called(grants.All("team"))
	if len(all) != 12 {
		t.Errorf("a tenant can have %d objects: %v", len(all), all)
	}
	for name, tc := range map[string]struct {
		spec   v1alpha1.LNamespaceSpec
		wanted int
	}{
		"nobody":               {v1alpha1.LNamespaceSpec{Sudo: full.Sudo}, 0},
		"users":                {v1alpha1.LNamespaceSpec{Users: people}, 1},
		"managers":             {v1alpha1.LNamespaceSpec{Managers: people}, 2},
		"sudoers":              {v1alpha1.LNamespaceSpec{Sudoers: people}, 5},
		"a group of sudoers":   {v1alpha1.LNamespaceSpec{Sudoers: others}, 7},
		"everybody, all of it": {full, 12},
	} {
		wanted, unwanted := grants.For(&v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: tc.spec}, grants.Options{UserRole: "edit"})
		if len(wanted) != tc.wanted {
			t.Errorf("%s: %v", name, called(wanted))
		}
		if got := called(append(wanted, unwanted...)); !slices.Equal(got, all) {
			t.Errorf("%s: %v, can have %v", name, got, all)
		}
	}
}

// TestSharedUserIsForGroupsAndAccounts checks that only groups and service accounts among the sudoers
// may impersonate the user that they share: a User impersonates itself.
func TestSharedUserIsForGroupsAndAccounts(t *testing.T) {
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: v1alpha1.LNamespaceSpec{Sudoers: []v1alpha1.Subject{
		{Kind: v1alpha1.UserKind, Name: "ada"}, {Name: "bob"}, {Kind: v1alpha1.GroupKind, Name: "ops"}, {Kind: v1alpha1.ServiceAccountKind, Namespace: "ci", Name: "robot"},
	}}}
	wanted, _ := grants.For(lns, grants.Options{})
	found := map[string]string{}
	for _, object := range wanted {
		if b, ok := object.(*rbacv1.ClusterRoleBinding); ok {
			for _, s := range b.Subjects {
				found[b.RoleRef.Name] += " " + s.Name
			}
		}
	}
	if got := found[names.SharedImpersonatorRole("team")]; got != " ops robot" {
		t.Errorf("the user of all is for%s", got)
	}
	if got := found[names.ImpersonatorRole("team")]; got != " ada bob ops robot" {
		t.Errorf("the group is for%s", got)
	}
	for _, object := range wanted {
		if r, ok := object.(*rbacv1.ClusterRole); ok && strings.Contains(fmt.Sprint(r.Rules), "users]") != (r.Name == names.SharedImpersonatorRole("team")) {
			t.Errorf("%s: %v", r.Name, r.Rules)
		}
	}
}
