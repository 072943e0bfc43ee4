// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/client/clientset/versioned"
	"kube-granular.dev/pkg/registry/authority"
	"kube-granular.dev/test/integration/harness"
)

// TestRoles checks that the roles view, edit and admin of a namespace allow to read its
// protected attributes, and that none of them allows to change them.
func TestRoles(t *testing.T) {
	namespace(t, on, "roles")
	_, theirs := clients(t, on)
	for _, role := range []string{"view", "edit", "admin", authority.ManageRole} {
		if _, err := theirs.RbacV1().RoleBindings("roles").Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll(role, ":", "-")},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: role}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	can := func(user, verb string) bool {
		out, _ := harness.Kubectl(t, on, "", "auth", "can-i", verb, "protectedattributes.authority.kube-granular.dev", "-n", "roles", "--as", user)
		return strings.TrimSpace(out) == "yes"
	}
	harness.Until(t, "the roles are aggregated", func() bool { return can("admin", "get") })
	for user, may := range map[string]map[string]bool{
		"view":   {"get": true, "list": true, "watch": true},
		"edit":   {"get": true, "list": true, "watch": true},
		"admin":  {"get": true, "list": true, "watch": true},
		"nobody": {},
		authority.ManageRole: {"get": true, "list": true, "create": true, "update": true, "patch": true,
			"delete": true, "deletecollection": true},
	} {
		for _, verb := range []string{"get", "list", "create", "update", "patch", "delete", "deletecollection"} {
			if got := can(user, verb); got != may[verb] {
				t.Errorf("%s may %s: %t", user, verb, got)
			}
		}
	}
	out, _ := harness.Kubectl(t, on, "", "auth", "can-i", "update", "protectedattributes.authority.kube-granular.dev", "--subresource", "status", "-n", "roles", "--as", authority.ManageRole)
	if strings.TrimSpace(out) != "no" {
		t.Error("the manager writes the status")
	}
}

// TestGranular checks granular permissions on protected attributes themselves: a caller with
// the permission for labels can change labels and not the specification, and the reverse.
func TestGranular(t *testing.T) {
	namespace(t, on, "granular")
	ours, theirs := clients(t, on)
	if _, err := ours.AuthorityV1alpha1().ProtectedAttributes("granular").Create(t.Context(), attribute("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	grant := func(user string, verbs ...string) versioned.Interface {
		t.Helper()
		if _, err := theirs.RbacV1().Roles("granular").Create(t.Context(), &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"authority.kube-granular.dev"}, Resources: []string{"protectedattributes", "protectedattributes/status"}, Verbs: verbs}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.RbacV1().RoleBindings("granular").Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c := rest.CopyConfig(config(t, on))
		c.Impersonate = rest.ImpersonationConfig{UserName: user}
		client, err := versioned.NewForConfig(c)
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	// Each user's patches contain its name, so that each patch is a change and needs a
	// permission.
	patches := func(user string) map[string]string {
		return map[string]string{
			"labels":        fmt.Sprintf(`{"metadata":{"labels":{"a":%q}}}`, user),
			"specification": fmt.Sprintf(`{"spec":{"allowedValues":[%q]}}`, user),
		}
	}
	for user, permission := range map[string]string{"labeller": "labels", "editor": "specification"} {
		client := grant(user, "get", "granular", "granular:"+permission).AuthorityV1alpha1().ProtectedAttributes("granular")
		harness.Until(t, user+" is known", func() bool {
			_, err := client.Get(t.Context(), "a", metav1.GetOptions{})
			return err == nil
		})
		for what, patch := range patches(user) {
			_, err := client.Patch(t.Context(), "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			if what == permission && err != nil || what != permission && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cannot change")) {
				t.Errorf("%s changes the %s: %v", user, what, err)
			}
		}
	}
	status := grant("reporter", "get", "granular", "granular:status").AuthorityV1alpha1().ProtectedAttributes("granular")
	harness.Until(t, "the reporter is known", func() bool {
		_, err := status.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"status":{"auditViolations":3}}`), metav1.PatchOptions{}, "status")
		return err == nil
	})
	if _, err := status.Patch(t.Context(), "a", types.MergePatchType, []byte(patches("reporter")["specification"]), metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the reporter changes the specification: %v", err)
	}
}
