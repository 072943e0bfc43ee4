// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/harness"
)

// TestFresh checks that a request is judged by every change of a protected attribute that was
// acknowledged before the request began. Right after an attribute that refers to a role was
// created, a binding of the role is refused. Right after it was deleted, the binding is
// allowed. FRESH_TRIES sets the number of tries.
//
// Attack: the caller binds itself to an attribute's role right after the attribute was acknowledged
// Answer: 403; allowed right after its removal
func TestFresh(t *testing.T) {
	tries := 100
	if n, err := strconv.Atoi(os.Getenv("FRESH_TRIES")); err == nil {
		tries = n
	}
	namespace(t, on, "fresh")
	ours, theirs := clients(t, on)
	attributes := ours.AuthorityV1alpha1().ProtectedAttributes("fresh")
	if _, err := theirs.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "fresh"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.RbacV1().RoleBindings("fresh").Create(t.Context(), roleBinding("tenant", "ClusterRole", "admin", "tenant"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tenant := as(t, on, "tenant").RbacV1().RoleBindings("fresh")
	try := func() error {
		_, err := tenant.Create(t.Context(), roleBinding("mine", "ClusterRole", "fresh", "tenant"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	harness.Until(t, "the tenant is known", func() bool { return try() == nil })
	misses := 0
	for i := range tries {
		a := attribute(fmt.Sprintf("a%d", i))
		a.Spec.RoleRef = &v1alpha1.RoleReference{Kind: "ClusterRole", Name: "fresh"}
		if _, err := attributes.Create(t.Context(), a, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := try(); !apierrors.IsForbidden(err) {
			misses++
			t.Errorf("try %d: after the creation: %v", i, err)
		}
		if err := attributes.Delete(t.Context(), a.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := try(); err != nil {
			misses++
			t.Errorf("try %d: after the removal: %v", i, err)
		}
	}
	t.Logf("%d tries, %d misses", tries, misses)
}
