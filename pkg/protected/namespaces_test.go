// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	registry "kube-granular.dev/pkg/registry/authority"
)

// TestAttachedNamespaces holds that the namespaces come from the informer. An attribute of a
// deleted namespace has no effect as soon as the informer reports a new namespace of the same
// name. An attribute of the present namespace, or of a namespace that the informer does not
// know, has an effect.
func TestAttachedNamespaces(t *testing.T) {
	made := time.Now().Add(-time.Hour)
	namespace := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "now", CreationTimestamp: metav1.NewTime(made)}}
	}
	client := fake.NewClientset(namespace("n"))
	factory := informers.NewSharedInformerFactory(client, 0)
	p := New()
	if err := p.UseInformers(factory); err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	p.SetKinds(registry.Kinds{})
	before := made.Add(-time.Hour)
	p.Observe(madeIn(attribute("n", "earlier", "a", 1), "before", before), false)
	p.Observe(madeIn(attribute("n", "its", "b", 2), "now", made), false)
	p.Observe(madeIn(attribute("m", "unknown", "c", 3), "before", before), false)
	set, _ := p.Set()
	if wanted(set, "n", "a") || !wanted(set, "n", "b") || !wanted(set, "m", "c") {
		t.Errorf("in force: earlier %t, its %t, unknown %t", wanted(set, "n", "a"), wanted(set, "n", "b"), wanted(set, "m", "c"))
	}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace("m"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		set, _ := p.Set()
		return !wanted(set, "m", "c"), nil
	}); err != nil {
		t.Errorf("the successor of a namespace is not heard of: %v", err)
	}
	// A new binding changes a status, so it is reported as a change.
	select {
	case <-p.Changes():
	default:
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Changes():
	case <-time.After(time.Minute):
		t.Error("a binding is not heard of")
	}
}
