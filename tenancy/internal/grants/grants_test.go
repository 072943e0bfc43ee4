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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/config"
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

// onRequest returns the specification of a tenant whose sudoers have sudo only by a request.
func onRequest(s v1alpha1.LNamespaceSpec) v1alpha1.LNamespaceSpec {
	s.Sudo = v1alpha1.Sudo{Approval: v1alpha1.ApprovalRequired}
	return s
}

// TestAll checks that a tenant without members has no objects, and that All returns every object
// that a tenant can have.
func TestAll(t *testing.T) {
	people := []v1alpha1.Subject{{Kind: v1alpha1.UserKind, Name: "ada"}}
	others := append([]v1alpha1.Subject{{Kind: v1alpha1.GroupKind, Name: "ops"}}, people...)
	full := v1alpha1.LNamespaceSpec{Users: people, Managers: people, Sudoers: others, Sudo: v1alpha1.Sudo{Allow: []v1alpha1.SudoAllowance{
		v1alpha1.AllowDelete, v1alpha1.AllowLists, v1alpha1.AllowNamespace, v1alpha1.AllowQuotas,
	}}}
	all := called(grants.All("team", people...))
	if len(all) != 16 {
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
		"a group of sudoers":   {v1alpha1.LNamespaceSpec{Sudoers: others}, 9},
		"everybody, all of it": {full, 14},
		"on request":           {onRequest(full), 5},
	} {
		before := v1alpha1.LNamespaceStatus{Granted: v1alpha1.Granted{Sudoers: people}}
		wanted, unwanted := grants.For(&v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: tc.spec, Status: before}, grants.Options{UserRole: "edit"})
		if len(wanted) != tc.wanted {
			t.Errorf("%s: %v", name, called(wanted))
		}
		if got := called(append(wanted, unwanted...)); !slices.Equal(got, all) {
			t.Errorf("%s: %v, can have %v", name, got, all)
		}
	}
}

// TestSharedUserIsForGroupsAndAccounts checks that only groups and service accounts among the sudoers
// may impersonate the user that they share, and that each User may impersonate only one of its own.
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
	if got := found[names.ImpersonatorRole("team")]; got != " ops robot" {
		t.Errorf("the group is for%s", got)
	}
	become := map[string]string{names.SharedImpersonatorRole("team"): "lnamespace:team-sudoers"}
	for _, user := range []string{"ada", "bob"} {
		role := names.SudoerRole("team", user)
		become[role] = "lnamespace:team:" + user
		if got := found[role]; got != " "+user {
			t.Errorf("the role of %s is for%s", user, got)
		}
	}
	for _, object := range wanted {
		r, ok := object.(*rbacv1.ClusterRole)
		if !ok {
			continue
		}
		users := ""
		for _, rule := range r.Rules {
			if slices.Contains(rule.Resources, "users") {
				users += strings.Join(rule.ResourceNames, " ")
			}
		}
		if users != become[r.Name] {
			t.Errorf("%s: impersonates %q", r.Name, users)
		}
	}
}

// TestManagersRemoveSudoersOfEachKind checks which verbs managers get to remove sudoers: on a server that
// authorizes single fields, one for each kind that the definition allows in the list. They get neither
// the verb of the list nor update, and with update they need no verb for a kind.
func TestManagersRemoveSudoersOfEachKind(t *testing.T) {
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: v1alpha1.LNamespaceSpec{
		Managers: []v1alpha1.Subject{{Kind: v1alpha1.UserKind, Name: "mia"}},
	}}
	items := sudoersSchema(t)
	permission, _, _ := unstructured.NestedString(items, "x-kubernetes-permission-verb")
	source, _, _ := unstructured.NestedString(items, "x-kubernetes-permission-parameterized-by")
	kinds, _, err := unstructured.NestedStringSlice(items, "properties", "kind", "enum")
	if err != nil || len(kinds) == 0 || source != "self.kind" {
		t.Fatalf("kinds %q by %q: %v", kinds, source, err)
	}
	granted := func(o grants.Options) (verbs []string) {
		wanted, _ := grants.For(lns, o)
		for _, object := range wanted {
			if r, ok := object.(*rbacv1.ClusterRole); ok && r.Name == names.ManagerRole("team") {
				for _, rule := range r.Rules {
					verbs = append(verbs, rule.Verbs...)
				}
			}
		}
		return verbs
	}
	fields, plain := granted(grants.Options{FieldPermissions: true}), granted(grants.Options{})
	for _, kind := range kinds {
		verb := "granular:" + permission + "(" + kind + ")"
		if !slices.Contains(fields, verb) || slices.Contains(plain, verb) {
			t.Errorf("%s: with permissions of fields %q, without %q", verb, fields, plain)
		}
	}
	for _, verbs := range [][]string{fields, plain} {
		list, removal := names.FieldVerb(names.Sudoers), names.FieldVerb(names.SudoersRemoval)
		if !slices.Contains(verbs, removal) || slices.Contains(verbs, list) {
			t.Errorf("a manager has %q", verbs)
		}
	}
	if slices.Contains(fields, "update") || slices.Contains(fields, "patch") {
		t.Errorf("with permissions of fields, a manager has %q", fields)
	}
}

// sudoersSchema returns the schema of one sudoer in the definition for a server that authorizes single
// fields.
func sudoersSchema(t *testing.T) map[string]any {
	objects, err := config.Objects(config.Options{FieldPermissions: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(object.Object, "spec", "versions")
		items, _, _ := unstructured.NestedMap(versions[0].(map[string]any),
			"schema", "openAPIV3Schema", "properties", "spec", "properties", "sudoers", "items")
		return items
	}
	t.Fatal("there is no definition")
	return nil
}
