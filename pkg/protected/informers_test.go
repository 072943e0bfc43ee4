// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/pkg/apis/authority"
	registry "kube-granular.dev/pkg/registry/authority"
)

// TestStoppedInformers checks that a Protection is not built on an informer that reports nothing.
func TestStoppedInformers(t *testing.T) {
	for name, tc := range map[string]struct {
		informer func(informers.SharedInformerFactory) cache.SharedIndexInformer
		want     string
	}{
		"namespaces": {func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().Namespaces().Informer()
		}, "watch namespaces"},
		"roles": {func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Rbac().V1().Roles().Informer()
		},
			"watch roles and bindings"},
		"cluster roles": {func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Rbac().V1().ClusterRoles().Informer()
		}, "watch roles and bindings"},
		"bindings": {func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Rbac().V1().RoleBindings().Informer()
		}, "index bindings by role"},
		"cluster role bindings": {func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Rbac().V1().ClusterRoleBindings().Informer()
		}, "index bindings by role"},
	} {
		factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
		tc.informer(factory).RunWithContext(ended(t))
		if err := New().UseInformers(factory); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestChangesAreTold checks that each change that can change the status of an attribute is told, and that
// a change of another namespace is not.
func TestChangesAreTold(t *testing.T) {
	client := fake.NewClientset()
	events := map[string]*watch.FakeWatcher{}
	for _, resource := range []string{"namespaces", "roles", "clusterroles", "rolebindings", "clusterrolebindings"} {
		w := watch.NewFake()
		events[resource] = w
		client.PrependWatchReactor(resource, func(clienttesting.Action) (bool, watch.Interface, error) { return true, w, nil })
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	p := New()
	if err := p.UseInformers(factory); err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	p.SetKinds(registry.Kinds{})
	told := func(what string) {
		t.Helper()
		select {
		case <-p.Changes():
		case <-time.After(time.Minute):
			t.Errorf("%s is not told", what)
		}
	}
	created := metav1.NewTime(time.Unix(2000, 0))
	p.Observe(madeIn(attribute("n", "a", "a", 1), "first", time.Unix(1000, 0)), false)
	told("a new attribute")
	p.Observe(attribute("n", "a", "a", 2).(authority.Attribute), true)
	told("a removed attribute")
	p.Observe(madeIn(attribute("n", "a", "a", 3), "first", time.Unix(1000, 0)), false)
	told("a new attribute")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "second", CreationTimestamp: created}}
	events["namespaces"].Add(namespace)
	told("a namespace that replaces another")
	events["namespaces"].Modify(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "first", CreationTimestamp: created}})
	told("a namespace that is the one of the attribute")
	events["namespaces"].Modify(namespace)
	told("a namespace that is another one again")
	events["namespaces"].Delete(namespace)
	told("a namespace that is gone")
	for resource, object := range map[string]runtime.Object{
		"roles":               &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}},
		"clusterroles":        &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		"rolebindings":        &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}},
		"clusterrolebindings": &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
	} {
		events[resource].Add(object)
		told("an addition to " + resource)
		events[resource].Modify(object)
		told("a change of " + resource)
		events[resource].Delete(object)
		told("a removal from " + resource)
	}
	select {
	case <-p.Changes():
		t.Error("more is told than has changed")
	default:
	}
}

// TestRunEnds checks what Run says if the server stops before the roles and bindings are read.
func TestRunEnds(t *testing.T) {
	p := New()
	if err := p.UseInformers(informers.NewSharedInformerFactory(fake.NewClientset(), 0)); err != nil {
		t.Fatal(err)
	}
	p.SetKinds(registry.Kinds{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := p.Run(ctx); err == nil || !strings.Contains(err.Error(), "roles and bindings") {
		t.Errorf("ended with %v", err)
	}
}
