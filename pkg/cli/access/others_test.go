// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

// roleBound returns a ClusterRole with the name of a user, and its binding to the user, in a namespace or in
// the cluster. A rule has the form "VERBS on RESOURCE.GROUP [NAME]".
func roleBound(user, namespace string, rules ...string) []runtime.Object {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}}
	for _, text := range rules {
		verbs, resource, _ := strings.Cut(text, " on ")
		resource, name, _ := strings.Cut(resource, " ")
		resource, group, _ := strings.Cut(resource, ".")
		rule := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: strings.Fields(verbs)}
		if name != "" {
			rule.ResourceNames = []string{name}
		}
		role.Rules = append(role.Rules, rule)
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}}
	ref := rbacv1.RoleRef{Kind: "ClusterRole", Name: user}
	if namespace == "" {
		return []runtime.Object{role, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: ref, Subjects: subjects}}
	}
	return []runtime.Object{role, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: namespace}, RoleRef: ref, Subjects: subjects}}
}

// TestWhoCanByOthers holds who is listed besides the holders of a verb: those that get the permission
// by a role, a delegation or the server itself, and those that can grant it to themselves.
func TestWhoCanByOthers(t *testing.T) {
	const rbac = ".rbac.authorization.k8s.io"
	var objects []runtime.Object
	for _, more := range [][]runtime.Object{
		roleBound("holder", "shop", "granular granular:replicas on things.example.com"),
		roleBound("escalator", "", "escalate update on clusterroles"+rbac),
		roleBound("bystander", "", "escalate on clusterroles"+rbac, "bind on clusterroles"+rbac),
		roleBound("binder", "shop", "bind on clusterroles"+rbac+" holder", "create on rolebindings"+rbac),
		roleBound("binder-of-another", "shop", "bind on clusterroles"+rbac+" bystander", "create on rolebindings"+rbac),
		roleBound("elsewhere", "other", "bind on clusterroles"+rbac, "create on rolebindings"+rbac),
		roleBound("manager", "shop", "get on things.example.com"),
		roleBound("manager-elsewhere", "other", "get on things.example.com"),
	} {
		objects = append(objects, more...)
	}
	all, err := ReadRBAC(t.Context(), fake.NewClientset(objects...).RbacV1(), "")
	if err != nil {
		t.Fatal(err)
	}
	things := Target{Group: "example.com", Version: "v1", Resource: "things", Namespace: "shop"}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: []string{"things"}, Verbs: []string{"granular", "granular:replicas"}}}
	robot := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "ci", Name: "robot"}}
	for name, tc := range map[string]struct {
		of   Query
		want []string
	}{
		"a permission": {Query{Target: things, Verbs: []string{"granular:replicas"}, Granular: true, Included: true},
			[]string{"User holder yes", "Group system:masters yes", "User binder no", "User escalator no"}},
		"a delegation": {Query{Target: things, Verbs: []string{"granular:replicas"}, Granular: true, Delegations: []Delegation{
			{Name: "here", Delegator: "alice", Delegates: robot, Namespace: "shop", Rules: rules}}},
			[]string{"User holder yes", "Group system:masters yes", "ServiceAccount ci/robot yes", "User binder no", "User escalator no"}},
		"a delegation elsewhere, and one without granular": {Query{Target: things, Verbs: []string{"granular:replicas"}, Granular: true, Delegations: []Delegation{
			{Name: "there", Delegator: "alice", Delegates: robot, Namespace: "other", Rules: rules},
			{Name: "half", Delegator: "alice", Delegates: robot, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: []string{"things"}, Verbs: []string{"granular:replicas"}}}}}},
			[]string{"User holder yes", "Group system:masters yes", "User binder no", "User escalator no"}},
		"a protected attribute that requires a role": {Query{Target: things, Verbs: []string{"granular:protectedLabel(env)"}, OnlyRoles: true,
			Roles: []RoleRef{{Kind: "ClusterRole", Name: "manager", Namespace: "shop", By: "protectedattribute/env"}}},
			[]string{"Group system:masters yes", "User manager yes", "User escalator no"}},
		"an attribute of the cluster counts no RoleBindings": {Query{Target: things, Verbs: []string{"granular:protectedLabel(env)"}, OnlyRoles: true,
			Roles: []RoleRef{{Kind: "ClusterRole", Name: "manager", By: "clusterprotectedattribute/env"}}},
			[]string{"Group system:masters yes", "User escalator no"}},
		"a role that does not exist": {Query{Target: things, Verbs: []string{"granular:protectedLabel(env)"}, OnlyRoles: true, Roles: []RoleRef{{Kind: "Role", Name: "gone", Namespace: "shop"}}},
			[]string{"Group system:masters yes", "User escalator no"}},
		"a user to impersonate": {Query{Target: Target{Resource: "users", Name: "jane"}, Verbs: []string{"impersonate"}},
			[]string{"Group system:masters yes", "User escalator no"}},
	} {
		var got []string
		for _, h := range all.WhoCan(tc.of) {
			got = append(got, fmt.Sprintf("%s %s", h.Subject, map[bool]string{true: "yes", false: "no"}[h.Can]))
			if h.But == "" && h.Subject != "User holder" {
				t.Errorf("%s: %+v says no more", name, h)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, wanted %q", name, got, tc.want)
		}
	}
	// An account has the rights of its groups too, in both directions, and no right of another namespace's group.
	account := func(namespace string) []rbacv1.Subject {
		return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "a"}}
	}
	group := []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:ci"}}
	for name, tc := range map[string]struct {
		general, verbs []rbacv1.Subject
		want           []string
	}{
		"granular by a group": {group, account("ci"), []string{"ServiceAccount ci/a yes", "Group system:masters yes"}},
		"the verb by a group": {account("ci"), group,
			[]string{"ServiceAccount ci/a yes", "Group system:masters yes", "Group system:serviceaccounts:ci no"}},
		"granular by another's group":      {group, account("shop"), []string{"Group system:masters yes", "ServiceAccount shop/a no"}},
		"the verb by the group of another": {account("shop"), group, []string{"Group system:masters yes", "Group system:serviceaccounts:ci no"}},
	} {
		var objects []runtime.Object
		for verb, subjects := range map[string][]rbacv1.Subject{"granular": tc.general, "granular:replicas": tc.verbs} {
			named := metav1.ObjectMeta{Name: strings.ReplaceAll(verb, ":", "-")}
			rule := rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"things"}, Verbs: []string{verb}}
			objects = append(objects, &rbacv1.ClusterRole{ObjectMeta: named, Rules: []rbacv1.PolicyRule{rule}},
				&rbacv1.ClusterRoleBinding{ObjectMeta: named, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: named.Name}, Subjects: subjects})
		}
		some, err := ReadRBAC(t.Context(), fake.NewClientset(objects...).RbacV1(), "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range some.WhoCan(Query{Target: things, Verbs: []string{"granular:replicas"}, Granular: true}) {
			got = append(got, fmt.Sprintf("%s %s", h.Subject, map[bool]string{true: "yes", false: "no"}[h.Can]))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, wanted %q", name, got, tc.want)
		}
	}
	// The twin: the binding of the group is listed once, and not what the server allows without it.
	bound, err := ReadRBAC(t.Context(), fake.NewClientset(
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cluster-admin"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "cluster-admin"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: "system:masters"}}},
	).RbacV1(), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := bound.WhoCan(Query{Target: things, Verbs: []string{"delete"}}); len(got) != 1 || got[0].Binding != "ClusterRoleBinding cluster-admin" {
		t.Errorf("%+v", got)
	}
}
