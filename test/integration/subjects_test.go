// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/harness"
)

// TestEverySubject checks that a binding grants the ordinary verb and the granular verbs to
// exactly the subjects that it names, in every form in which it can name them, and only as long
// as it exists. TestBindingsBySubject of package wiring checks that the server answers both
// from an index of bindings by subject.
func TestEverySubject(t *testing.T) {
	for name, verbs := range map[string][]string{
		"granular": {"granular", "granular:label(example.com)"},
		"ordinary": {"patch"},
	} {
		t.Run(name, func(t *testing.T) { everySubject(t, verbs) })
	}
}

// everySubject creates a role with these verbs, which allow to set a label, and binds it to
// each kind of subject.
func everySubject(t *testing.T, verbs []string) {
	config := harness.Config(t, on, "admin")
	admin := harness.Administrator(t, on)
	namespace := fmt.Sprintf("subjects-%d", harness.Unique())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Rules:      []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"configmaps"}}},
	}
	if _, err := admin.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}

	// label sets the label to a new value as the given caller.
	values := 0
	label := func(caller rest.ImpersonationConfig) error {
		as := rest.CopyConfig(config)
		as.Impersonate = caller
		client, err := kubernetes.NewForConfig(as)
		if err != nil {
			return err
		}
		values++
		patch := fmt.Sprintf(`{"metadata":{"labels":{"example.com/l":"v%d"}}}`, values)
		_, err = client.CoreV1().ConfigMaps(namespace).Patch(ctx, "c", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
	until := func(t *testing.T, caller rest.ImpersonationConfig, allowed bool) {
		t.Helper()
		err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
			err := label(caller)
			if err != nil && !apierrors.IsForbidden(err) {
				return false, err
			}
			return (err == nil) == allowed, nil
		})
		if err != nil {
			t.Fatalf("waiting until %+v is allowed: %t: %v", caller, allowed, err)
		}
	}

	robot := "system:serviceaccount:" + namespace + ":robot"
	for _, tc := range []struct {
		name           string
		cluster        bool
		subject        rbacv1.Subject
		caller, nobody rest.ImpersonationConfig
	}{
		{"a user", false, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "ann"},
			harness.Impersonating("ann"), harness.Impersonating("ann2", "ann")},
		{"a user everywhere", true, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "ann"},
			harness.Impersonating("ann"), harness.Impersonating("Ann")},
		{"a group", false, rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "ops"},
			harness.Impersonating("bob", "devs", "ops"), harness.Impersonating("ops", "devs")},
		{"a group everywhere", true,
			rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "ops"},
			harness.Impersonating("bob", "ops"), harness.Impersonating("bob", "devs")},
		{"a service account", false,
			rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "robot"},
			harness.Impersonating(robot), harness.Impersonating("robot")},
		{"a service account everywhere", true,
			rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "robot"},
			harness.Impersonating(robot), harness.Impersonating(robot + "2")},
		{"a service account by its user name", false,
			rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: robot},
			harness.Impersonating(robot), harness.Impersonating("system:serviceaccount:default:robot")},
		{"all service accounts of a namespace", false,
			rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName,
				Name: "system:serviceaccounts:" + namespace},
			harness.Impersonating(robot), harness.Impersonating("system:serviceaccount:default:robot")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			until(t, tc.caller, false)
			name := metav1.ObjectMeta{GenerateName: "every-subject-"}
			var unbind func() error
			if tc.cluster {
				made, err := admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: name, RoleRef: ref, Subjects: []rbacv1.Subject{tc.subject}}, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				unbind = func() error {
					return admin.RbacV1().ClusterRoleBindings().Delete(ctx, made.Name, metav1.DeleteOptions{})
				}
			} else {
				made, err := admin.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: name, RoleRef: ref, Subjects: []rbacv1.Subject{tc.subject}}, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				unbind = func() error {
					return admin.RbacV1().RoleBindings(namespace).Delete(ctx, made.Name, metav1.DeleteOptions{})
				}
			}
			until(t, tc.caller, true)
			if err := label(tc.nobody); !apierrors.IsForbidden(err) {
				t.Errorf("%+v: got %v, wanted 403", tc.nobody, err)
			}
			if err := unbind(); err != nil {
				t.Fatal(err)
			}
			until(t, tc.caller, false)
		})
	}
}
