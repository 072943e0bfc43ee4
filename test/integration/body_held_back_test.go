// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/test/integration/harness"
)

// TestBodyHeldBack tests a caller that passes the authorization filter as granular and then
// delays the body. The server must judge the fields by the roles and bindings that exist when
// the body arrives: those removed meanwhile count no more, and new ones count. The verification
// reuses results of the authorizer queries of the filter, so stale results are the risk.
//
// Attack: delaying the body until a role or binding that allows the write is gone
// Answer: 403; and 200 by a role or binding that was added meanwhile
func TestBodyHeldBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	admin := harness.Administrator(t, on)
	all := []string{"granular", "granular:label(example.com)", "get"}
	for i, tc := range []struct {
		name  string
		verbs []string
		// change happens while the body is held back. may maps verbs to whether RBAC should
		// allow them afterwards; the test waits for that.
		change func(s *heldBack) error
		may    map[string]bool
		want   int
	}{
		{"nothing changes", all, nil, nil, http.StatusOK},
		{"the binding goes", all, (*heldBack).unbind, map[string]bool{"granular": false}, http.StatusForbidden},
		{"the role goes", all, (*heldBack).deleteRole, map[string]bool{"granular": false}, http.StatusForbidden},
		{"the permission goes", all, func(s *heldBack) error { return s.setRole("granular", "get") },
			map[string]bool{"granular:label(example.com)": false}, http.StatusForbidden},
		{"the permission comes", []string{"granular", "get"}, func(s *heldBack) error { return s.setRole(all...) },
			map[string]bool{"granular:label(example.com)": true}, http.StatusOK},
		{"the permission comes by another binding", []string{"granular", "get"},
			func(s *heldBack) error { return s.bindAnother("granular:label(example.com)") },
			map[string]bool{"granular:label(example.com)": true}, http.StatusOK},
		{"what another binding allowed goes", all, func(s *heldBack) error {
			return errors.Join(s.bindAnother("granular", "get"), s.unbind())
		}, map[string]bool{"granular:label(example.com)": false}, http.StatusForbidden},
	} {
		for _, everywhere := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, everywhere %t", tc.name, everywhere), func(t *testing.T) {
				s := &heldBack{ctx: ctx, admin: admin, name: fmt.Sprintf("held-back-%d-%t", i, everywhere),
					everywhere: everywhere}
				s.prepare(t, tc.verbs)
				for _, verb := range tc.verbs {
					s.await(t, verb, true)
				}
				body, answered := s.begin(t)
				if tc.change != nil {
					if err := tc.change(s); err != nil {
						t.Fatal(err)
					}
				}
				for verb, may := range tc.may {
					s.await(t, verb, may)
				}
				if _, err := io.WriteString(body, `{"metadata":{"labels":{"example.com/l":"v"}}}`); err != nil {
					t.Fatal(err)
				}
				if err := body.Close(); err != nil {
					t.Fatal(err)
				}
				if got := <-answered; !strings.HasPrefix(got, fmt.Sprint(tc.want)) {
					t.Errorf("%s, wanted %d", got, tc.want)
				}
				stored, err := admin.CoreV1().ConfigMaps(s.name).Get(ctx, "c", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if written := stored.Labels["example.com/l"] == "v"; written != (tc.want == http.StatusOK) {
					t.Errorf("the label is there: %t", written)
				}
			})
		}
	}
}

// heldBack is a test case with one caller. The caller, its namespace, role and binding have the
// same name.
type heldBack struct {
	ctx   context.Context
	admin *kubernetes.Clientset
	name  string
	// everywhere is true if the role and the binding are a ClusterRole and a
	// ClusterRoleBinding.
	everywhere bool
}

func (s *heldBack) rules(verbs []string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"configmaps"}}}
}

func (s *heldBack) prepare(t *testing.T, verbs []string) {
	t.Helper()
	_, err := s.admin.CoreV1().Namespaces().Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name}}, metav1.CreateOptions{})
	if err == nil {
		_, err = s.admin.CoreV1().ConfigMaps(s.name).Create(s.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{})
	}
	if err == nil {
		err = s.bind(s.name, verbs)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// bind creates a role and a binding, both with the given name.
func (s *heldBack) bind(name string, verbs []string) error {
	meta := metav1.ObjectMeta{Name: name}
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: s.name}}
	if s.everywhere {
		_, err := s.admin.RbacV1().ClusterRoles().Create(s.ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: s.rules(verbs)}, metav1.CreateOptions{})
		if err == nil {
			_, err = s.admin.RbacV1().ClusterRoleBindings().Create(s.ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}, metav1.CreateOptions{})
		}
		return err
	}
	_, err := s.admin.RbacV1().Roles(s.name).Create(s.ctx, &rbacv1.Role{ObjectMeta: meta, Rules: s.rules(verbs)}, metav1.CreateOptions{})
	if err == nil {
		_, err = s.admin.RbacV1().RoleBindings(s.name).Create(s.ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}}, metav1.CreateOptions{})
	}
	return err
}

func (s *heldBack) bindAnother(verbs ...string) error { return s.bind(s.name+"-another", verbs) }

func (s *heldBack) unbind() error {
	if s.everywhere {
		return s.admin.RbacV1().ClusterRoleBindings().Delete(s.ctx, s.name, metav1.DeleteOptions{})
	}
	return s.admin.RbacV1().RoleBindings(s.name).Delete(s.ctx, s.name, metav1.DeleteOptions{})
}

func (s *heldBack) deleteRole() error {
	if s.everywhere {
		return s.admin.RbacV1().ClusterRoles().Delete(s.ctx, s.name, metav1.DeleteOptions{})
	}
	return s.admin.RbacV1().Roles(s.name).Delete(s.ctx, s.name, metav1.DeleteOptions{})
}

func (s *heldBack) setRole(verbs ...string) error {
	meta := metav1.ObjectMeta{Name: s.name}
	if s.everywhere {
		_, err := s.admin.RbacV1().ClusterRoles().Update(s.ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: s.rules(verbs)}, metav1.UpdateOptions{})
		return err
	}
	_, err := s.admin.RbacV1().Roles(s.name).Update(s.ctx, &rbacv1.Role{ObjectMeta: meta, Rules: s.rules(verbs)}, metav1.UpdateOptions{})
	return err
}

// await waits until RBAC allows the caller the verb, or no longer allows it if may is false.
func (s *heldBack) await(t *testing.T, verb string, may bool) {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: s.name,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.name, Verb: verb,
			Resource: "configmaps", Name: "c"},
	}}
	err := wait.PollUntilContextCancel(s.ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		answer, err := s.admin.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed == may, err
	})
	if err != nil {
		t.Fatalf("waiting until %s is allowed: %t: %v", verb, may, err)
	}
}

// begin sends a patch and returns when the server begins to read its body, which is after the
// filters.
func (s *heldBack) begin(t *testing.T) (body io.WriteCloser, answered <-chan string) {
	t.Helper()
	return harness.HoldBody(s.ctx, t, on, s.name, "/api/v1/namespaces/"+s.name+"/configmaps/c", harness.ContentTypes["merge"])
}
