// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"kube-granular.dev/granular/protect"
)

func role(namespace, name string) runtime.Object {
	if namespace == "" {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// binding returns a RoleBinding in a namespace, or a ClusterRoleBinding if namespace is empty.
func binding(namespace, name, kind, role string, subjects ...rbacv1.Subject) runtime.Object {
	meta, ref := metav1.ObjectMeta{Namespace: namespace, Name: name}, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
	if namespace == "" {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	}
	return &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
}

func person(name string) rbacv1.Subject { return rbacv1.Subject{Kind: rbacv1.UserKind, Name: name} }
func group(name string) rbacv1.Subject  { return rbacv1.Subject{Kind: rbacv1.GroupKind, Name: name} }
func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

// known returns Roles, and its informer factory, after the informers have read objects.
func known(t *testing.T, objects ...runtime.Object) (*Roles, informers.SharedInformerFactory) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(fake.NewClientset(objects...), 0)
	roles, err := NewRoles(factory.Rbac().V1())
	if err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	return roles, factory
}

// TestHolds checks which bindings make a user hold a role, and that others do not.
func TestHolds(t *testing.T) {
	roles, _ := known(t,
		role("", "setter"), role("", "other"), role("", "setters"),
		role("n", "setter"), role("m", "setter"),
		// Bindings of each kind to the role, and bindings to a role of the other kind with the
		// same name.
		binding("", "b", "ClusterRole", "setter", person("everywhere"), group("everywheres"), account("", "nowhere"), account("s", "robot")),
		binding("n", "b", "ClusterRole", "setter", person("cluster-in-n"), group("cluster-in-ns"), account("", "local"), account("s", "robot-n")),
		binding("n", "c", "Role", "setter", person("role-in-n")),
		binding("m", "b", "ClusterRole", "setter", person("cluster-in-m")),
		binding("m", "c", "Role", "setter", person("role-in-m")),
		binding("", "d", "ClusterRole", "other", person("other"), person("Everywhere")),
		binding("", "e", "ClusterRole", "setters", person("longer")),
		// Nobody holds a role that does not exist.
		binding("", "f", "ClusterRole", "missing", person("of-missing")),
		binding("n", "f", "Role", "missing", person("of-missing")),
		binding("n", "g", "ClusterRole", "missing", person("of-missing")),
		binding("n", "h", "Role", "other", person("of-missing")),
	)
	users := map[string]user.Info{}
	for _, name := range []string{"everywhere", "cluster-in-n", "role-in-n", "cluster-in-m", "role-in-m", "other", "longer", "of-missing", "Everywhere"} {
		users[name] = &user.DefaultInfo{Name: name}
	}
	users["of everywheres"] = &user.DefaultInfo{Name: "a", Groups: []string{"x", "everywheres"}}
	users["of cluster-in-ns"] = &user.DefaultInfo{Name: "a", Groups: []string{"cluster-in-ns"}}
	users["s/robot"] = &user.DefaultInfo{Name: "system:serviceaccount:s:robot"}
	users["s/robot-n"] = &user.DefaultInfo{Name: "system:serviceaccount:s:robot-n"}
	users["n/local"] = &user.DefaultInfo{Name: "system:serviceaccount:n:local"}
	users["m/local"] = &user.DefaultInfo{Name: "system:serviceaccount:m:local"}
	users["/nowhere"] = &user.DefaultInfo{Name: "system:serviceaccount::nowhere"}
	users["n/nowhere"] = &user.DefaultInfo{Name: "system:serviceaccount:n:nowhere"}
	users["nobody"] = &user.DefaultInfo{}
	users["a group's name"] = &user.DefaultInfo{Name: "everywheres", Groups: []string{"everywhere", "cluster-in-n"}}

	for _, tc := range []struct {
		kind, namespace, name string
		holders               []string
	}{
		{"ClusterRole", "", "setter", []string{"everywhere", "of everywheres", "s/robot"}},
		{"ClusterRole", "n", "setter",
			[]string{"everywhere", "of everywheres", "s/robot", "cluster-in-n", "of cluster-in-ns", "n/local",
				"s/robot-n"}},
		{"ClusterRole", "m", "setter", []string{"everywhere", "of everywheres", "s/robot", "cluster-in-m"}},
		{"Role", "n", "setter", []string{"role-in-n"}},
		{"Role", "m", "setter", []string{"role-in-m"}},
		{"Role", "", "setter", nil},
		{"ClusterRole", "", "missing", nil},
		{"ClusterRole", "n", "missing", nil},
		{"Role", "n", "missing", nil},
		{"Role", "n", "other", nil},
	} {
		ref := protect.Reference{Kind: tc.kind, Namespace: tc.namespace, Name: tc.name}
		holders := map[string]bool{}
		for _, h := range tc.holders {
			holders[h] = true
		}
		for name, u := range users {
			held, err := roles.Holds(t.Context(), u, ref)
			if err != nil || held != holders[name] {
				t.Errorf("%s holds %s in %q: %t, %v", name, ref, tc.namespace, held, err)
			}
		}
	}
	if held, err := roles.Holds(t.Context(), nil, protect.Reference{Kind: "ClusterRole", Name: "setter"}); held || err == nil {
		t.Errorf("no user: %t, %v", held, err)
	}
}

// TestTwoOfOneFactory holds that NewRoles returns no error for informers that already have its
// index.
func TestTwoOfOneFactory(t *testing.T) {
	_, factory := known(t)
	if _, err := NewRoles(factory.Rbac().V1()); err != nil {
		t.Error(err)
	}
}
