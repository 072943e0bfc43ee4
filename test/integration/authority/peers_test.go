// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// TestTwoServers checks two servers on one etcd. A change on one server has an effect on the
// other as soon as its watch delivers the change: a new attribute, its removal, a binding of
// its role, the removal of that binding, and the need for the verb bind. A server that starts
// later knows all attributes from its first request.
//
// Attack: writing a protected label through another server than the one that acknowledged the attribute
// Answer: 403 as soon as that server's watch has delivered the attribute; its delay is measured
// Attack: the caller binds itself to an attribute's role through another server than the attribute's
// Answer: 403, as soon as that server's watch has delivered the attribute
func TestTwoServers(t *testing.T) {
	endpoint, _ := storage(t)
	args := []string{"--etcd-servers", endpoint, "--feature-gates", gateOn}
	a, _ := start(t, args...)
	b, stopB := start(t, args...)
	onA, rbacA := clients(t, a)
	onB, _ := clients(t, b)
	create, remove := metav1.CreateOptions{}, metav1.DeleteOptions{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	namespace(t, a, "peers")
	for name, rules := range map[string][]rbacv1.PolicyRule{
		"peers:writer": {{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
			{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"rolebindings"}, Verbs: []string{"create"}}},
		"tier-setter": nil,
	} {
		_, err := rbacA.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, create)
		must(err)
	}
	_, err := rbacA.RbacV1().ClusterRoleBindings().Create(t.Context(), clusterRoleBinding("peers:writer", "peers:writer", "writer"), create)
	must(err)

	// write tries to set the protected label as the writer, in a dry run.
	write := func(c *cluster.Cluster) error {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"example.com/tier": "gold"}}}
		_, err := as(t, c, "writer").CoreV1().ConfigMaps("peers").Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	refused := func(err error) bool {
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "a protected label")
	}
	free := func(c *cluster.Cluster, what string) {
		t.Helper()
		harness.Until(t, what, func() bool { return write(c) == nil })
	}
	// stays waits until a server refuses the write, and checks that it then refuses it every
	// time.
	stays := func(c *cluster.Cluster, what string) {
		t.Helper()
		harness.Until(t, what, func() bool { return refused(write(c)) })
		for range 20 {
			if err := write(c); !refused(err) {
				t.Fatalf("%s, and then it is not: %v", what, err)
			}
		}
	}
	now := func(c *cluster.Cluster, what string, want bool) {
		t.Helper()
		if err := write(c); refused(err) != want || !want && err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	free(a, "the writer is known to the first server")
	free(b, "the writer is known to the second")

	_, err = onA.AuthorityV1alpha1().ClusterProtectedAttributes().Create(t.Context(), clusterAttribute("peers"), create)
	must(err)
	now(a, "made here", true)
	stays(b, "an attribute that the other server made is enforced")

	// A binding made on one server admits its subject on the other, until the binding is
	// deleted.
	_, err = rbacA.RbacV1().ClusterRoleBindings().Create(t.Context(), clusterRoleBinding("peers:setter", "tier-setter", "writer"), create)
	must(err)
	free(b, "a binding that the other server made admits")
	free(a, "the binding admits where it was made")
	must(rbacA.RbacV1().ClusterRoleBindings().Delete(t.Context(), "peers:setter", remove))
	stays(b, "a binding that the other server removed admits nobody")
	stays(a, "a binding admits nobody where it was removed")

	// On the other server, too, binding the role of a new attribute needs the verb bind.
	ofNamespace := attribute("peers")
	ofNamespace.Spec.AttributeName = "example.com/other"
	ofNamespace.Spec.RoleRef = &v1alpha1.RoleReference{Kind: "ClusterRole", Name: "tier-setter"}
	bind := func(c *cluster.Cluster) error {
		_, err := as(t, c, "writer").RbacV1().RoleBindings("peers").Create(t.Context(), roleBinding("mine", "ClusterRole", "tier-setter", "writer"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	must(bind(b))
	_, err = onA.AuthorityV1alpha1().ProtectedAttributes("peers").Create(t.Context(), ofNamespace, create)
	must(err)
	harness.Until(t, "binding a role that an attribute of the other server refers to takes bind", func() bool {
		err := bind(b)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `needs the verb "bind"`)
	})

	// A deletion counts at once on the server that handles it, and on the other when its watch
	// delivers it.
	must(onB.AuthorityV1alpha1().ClusterProtectedAttributes().Delete(t.Context(), "peers", remove))
	now(b, "removed here", false)
	free(a, "an attribute that the other server removed is not enforced")
	_, err = onB.AuthorityV1alpha1().ClusterProtectedAttributes().Create(t.Context(), clusterAttribute("peers"), create)
	must(err)
	now(b, "made anew here", true)
	stays(a, "an attribute that the other server made anew is enforced")
	must(onB.AuthorityV1alpha1().ClusterProtectedAttributes().Delete(t.Context(), "peers", remove))
	free(a, "an attribute that was made anew and removed is not enforced")

	// A server that starts knows the attributes that were made while it was down.
	stopB()
	_, err = onA.AuthorityV1alpha1().ClusterProtectedAttributes().Create(t.Context(), clusterAttribute("peers"), create)
	must(err)
	c, _ := start(t, args...)
	now(c, "made while the server was down", true)
}
