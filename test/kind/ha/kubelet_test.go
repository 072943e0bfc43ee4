// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ha

import (
	"context"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// TestOldKubelet checks a node whose kubelet has the previous minor version. Pods run on it.
// While the kubelet writes the node's status, a granular caller changes labels of its own
// domain, and no others.
func TestOldKubelet(t *testing.T) {
	kubelet, version := os.Getenv("KUBE_GRANULAR_OLD_KUBELET"), os.Getenv("KUBE_GRANULAR_OLD_KUBELET_VERSION")
	if kubelet == "" {
		t.Skip("KUBE_GRANULAR_OLD_KUBELET names no kubelet, which hack/kind/old-kubelet builds")
	}
	s := open(t)
	s.all(t, true)
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	const node = 2
	runs := func(want string) {
		s.until(t, s.nodes[node]+" runs "+want, func(ctx context.Context) bool {
			n, err := client.CoreV1().Nodes().Get(ctx, s.nodes[node], metav1.GetOptions{})
			return err == nil && strings.HasPrefix(n.Status.NodeInfo.KubeletVersion, want) && ready(n)
		})
	}
	s.on(t, node, "systemctl stop kubelet; [ -e /usr/bin/kubelet.ours ] || cp /usr/bin/kubelet /usr/bin/kubelet.ours")
	t.Cleanup(func() {
		s.on(t, node, "systemctl stop kubelet; mv /usr/bin/kubelet.ours /usr/bin/kubelet; systemctl start kubelet")
	})
	docker(t, "cp", kubelet, s.nodes[node]+":/usr/bin/kubelet")
	s.on(t, node, "systemctl start kubelet")
	runs(version)

	s.clean(t, client, "old-kubelet")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "old-kubelet"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{}) })
	labels := map[string]string{"app": "hello"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "hello"}, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			NodeName: s.nodes[node], Containers: []corev1.Container{{Name: "hello", Image: "docker.io/kube-granular/hello:v1"}},
		}},
	}}
	if _, err := client.AppsV1().Deployments(ns.Name).Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(t, "pods run", func(ctx context.Context) bool {
		d, err := client.AppsV1().Deployments(ns.Name).Get(ctx, "hello", metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == 2
	})

	s.labeler(t, client)
	config := rest.CopyConfig(s.config)
	config.Impersonate.UserName = "labeler"
	labeler, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	patch := func(ctx context.Context, key string) error {
		_, err := labeler.CoreV1().Nodes().Patch(ctx, s.nodes[node], types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"`+key+`":"b"}}}`), metav1.PatchOptions{})
		return err
	}
	s.until(t, "the labeler labels the node", func(ctx context.Context) bool { return patch(ctx, "hw.example.com/a") == nil })
	if err := patch(t.Context(), "other.example.com/a"); !apierrors.IsForbidden(err) {
		t.Errorf("another domain: %v, want it forbidden", err)
	}
	runs(version)
}

// labeler lets a user set the labels of one domain on nodes.
func (s *set) labeler(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "ha-labeler"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "granular", "granular:label(hw.example.com)"},
	}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "ha-labeler"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "ha-labeler"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "labeler"}},
	}
	_, err1 := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	_, err2 := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	for _, err := range []error{err1, err2} {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

func ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
