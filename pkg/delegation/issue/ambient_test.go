// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestAmbient checks by which bindings a bound service account counts as having permissions of its own.
func TestAmbient(t *testing.T) {
	account := func(namespace, name string) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
	}
	for name, tc := range map[string]struct {
		namespace string // of the binding
		subject   rbacv1.Subject
		want      string
	}{
		"the account":                      {"", account("n", "robot"), `"ClusterRoleBinding \"b\""`},
		"another account":                  {"", account("n", "other"), ""},
		"an account in another namespace":  {"", account("m", "robot"), ""},
		"the account, in a namespace":      {"m", account("n", "robot"), `"RoleBinding \"m/b\""`},
		"an account without a namespace":   {"n", account("", "robot"), `"RoleBinding \"n/b\""`},
		"one of the namespace of another":  {"m", account("", "robot"), ""},
		"its user name":                    {"", rbacv1.Subject{Kind: rbacv1.UserKind, Name: robot}, `"ClusterRoleBinding \"b\""`},
		"another user name":                {"", rbacv1.Subject{Kind: rbacv1.UserKind, Name: robot + "s"}, ""},
		"the accounts of its namespace":    {"m", rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:n"}, `"RoleBinding \"m/b\""`},
		"those of another namespace":       {"m", rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:m"}, ""},
		"all that are authenticated":       {"", rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "system:authenticated"}, ""},
		"the account as a group":           {"", rbacv1.Subject{Kind: rbacv1.GroupKind, Name: robot}, ""},
		"the account as a subject unknown": {"", rbacv1.Subject{Kind: "Robot", Namespace: "n", Name: "robot"}, ""},
	} {
		var object runtime.Object = &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Subjects: []rbacv1.Subject{account("x", "y"), tc.subject}}
		if tc.namespace != "" {
			object = &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: tc.namespace, Name: "b"}, Subjects: []rbacv1.Subject{account("x", "y"), tc.subject}}
		}
		got := strings.Join(newScene(t, object).issuer.Ambient(robot), "\n")
		if (got != "") != (tc.want != "") || !strings.Contains(got, tc.want) || tc.want != "" && !strings.Contains(got, "the service account n/robot") {
			t.Errorf("%s: %q, wanted %q", name, got, tc.want)
		}
	}
}

// TestAmbientNames checks that each binding is named once, that the rest of many bindings is counted, and that nobody but
// a service account, and no binding that can't be read, is a problem.
func TestAmbientNames(t *testing.T) {
	twice := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "n", Name: "robot"}, {Kind: rbacv1.UserKind, Name: robot}}
	var all []runtime.Object
	for i := range maxAmbient {
		all = append(all, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("b", i)}, Subjects: twice})
	}
	for _, tc := range []struct {
		more int
		says string
	}{{0, `["ClusterRoleBinding \"b0\"" "ClusterRoleBinding \"b1\"" "ClusterRoleBinding \"b2\"" "ClusterRoleBinding \"b3\"" "ClusterRoleBinding \"b4\""]. They`}, {1, " and 1 more."}, {2, " and 2 more."}} {
		objects := all
		for i := range tc.more {
			objects = append(objects, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("c", i)}, Subjects: twice})
		}
		if got := newScene(t, objects...).issuer.Ambient(robot); len(got) != 1 || !strings.Contains(got[0], tc.says) {
			t.Errorf("%d more: %q, wanted %q", tc.more, got, tc.says)
		}
	}
	if got := newScene(t, all...).issuer.Ambient("alice"); got != nil {
		t.Errorf("a person: %q", got)
	}
	s := newScene(t, all...)
	if s.broken("list", "*"); s.issuer.Ambient(robot) != nil {
		t.Error("bindings are named that could not be read")
	}
}
