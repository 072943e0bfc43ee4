// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/apis/authority"
	registry "kube-granular.dev/pkg/registry/authority"
)

// store stands for the storage of one kind of attribute. Its lists wait until open is closed.
type store struct {
	open    chan struct{}
	list    runtime.Object
	watches chan *apiwatch.FakeWatcher
}

func (s *store) kind(example authority.Attribute) registry.Kind {
	return registry.Kind{Example: example, ListWatch: &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			select {
			case <-s.open:
				return s.list.DeepCopyObject(), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
			w := apiwatch.NewFakeWithChanSize(10, false)
			s.watches <- w
			return w, nil
		},
	}}
}

func newStore(list runtime.Object) *store {
	return &store{open: make(chan struct{}), list: list, watches: make(chan *apiwatch.FakeWatcher, 10)}
}

func namespacedList(version string, of ...authority.Attribute) *authority.ProtectedAttributeList {
	out := &authority.ProtectedAttributeList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, a := range of {
		out.Items = append(out.Items, *a.(*authority.ProtectedAttribute))
	}
	return out
}

func clusterList(version string, of ...authority.Attribute) *authority.ClusterProtectedAttributeList {
	out := &authority.ClusterProtectedAttributeList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, a := range of {
		out.Items = append(out.Items, *a.(*authority.ClusterProtectedAttribute))
	}
	return out
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return ok(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// ended returns a context that is already cancelled.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestProtection holds that a Protection counts as ready only after both kinds of attributes
// were listed and roles and bindings were read, and that it then follows hooks, watches and
// namespaces.
func TestProtection(t *testing.T) {
	client := fake.NewClientset(
		role("", "setter"), binding("", "b", "ClusterRole", "setter", person("alice")),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "second", CreationTimestamp: metav1.NewTime(time.Unix(2000, 0))}},
	)
	factory := informers.NewSharedInformerFactory(client, 0)
	p := New()
	if err := p.UseInformers(factory); err != nil {
		t.Fatal(err)
	}
	one := newStore(namespacedList("5", madeIn(attribute("n", "left", "left", 2), "first", time.Unix(1000, 0)), attribute("n", "a", "a", 3)))
	two := newStore(clusterList("5", refers(attribute("", "a", "everywhere", 4), "ClusterRole", "setter")))
	p.SetKinds(registry.Kinds{Namespaced: one.kind(&authority.ProtectedAttribute{}), Cluster: two.kind(&authority.ClusterProtectedAttribute{})})

	ref, alice := protect.Reference{Kind: "ClusterRole", Name: "setter"}, &user.DefaultInfo{Name: "alice"}
	unknown := func(step string) {
		t.Helper()
		if _, synced := p.Set(); synced {
			t.Errorf("%s: all is known", step)
		}
		if err := p.Wait(ended(t)); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("%s: %v", step, err)
		}
		if held, err := p.Holds(t.Context(), alice, ref); held || err == nil || !strings.Contains(err.Error(), "not read yet") {
			t.Errorf("%s: %t, %v", step, held, err)
		}
	}
	unknown("nothing runs")
	ran := make(chan error, 1)
	go func() { ran <- p.Run(t.Context()) }()
	close(one.open)
	until(t, "one kind is watched", func() bool { return len(one.watches) == 1 })
	unknown("one kind was listed")
	p.Observe(attribute("n", "hooked", "hooked", 7), false)
	if set, _ := p.Set(); !wanted(set, "n", "hooked") {
		t.Error("a hook waits for the lists")
	}
	close(two.open)
	until(t, "both kinds are watched", func() bool { return len(two.watches) == 1 && p.index.listed() })
	unknown("no roles")

	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if held, err := p.Holds(t.Context(), alice, ref); !held || err != nil {
		t.Errorf("she holds the role: %t, %v", held, err)
	}
	if held, err := p.Holds(t.Context(), &user.DefaultInfo{Name: "bob"}, ref); held || err != nil {
		t.Errorf("he holds the role: %t, %v", held, err)
	}
	// "setter" is the name of a role that she holds.
	for _, kind := range []string{protect.Verb, "Group", ""} {
		if held, err := p.Holds(t.Context(), alice, protect.Reference{Kind: kind, Name: "setter"}); held || err == nil || !strings.Contains(err.Error(), "is no role") {
			t.Errorf("she holds a %q: %t, %v", kind, held, err)
		}
	}
	says := func(keys map[string]bool) func() bool {
		return func() bool {
			set, synced := p.Set()
			for key, want := range keys {
				if wanted(set, "n", key) != want {
					return false
				}
			}
			return synced
		}
	}
	until(t, "all that is stored is in force, but for what is left of an earlier namespace",
		says(map[string]bool{"a": true, "everywhere": true, "hooked": true, "left": false}))

	(<-two.watches).Delete(attribute("", "a", "everywhere", 8))
	until(t, "the watch tells of a removal", says(map[string]bool{"everywhere": false}))
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "n", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the namespace is gone", says(map[string]bool{"left": true}))

	// The watch ends with the error that its version is too old, so the reflector lists again.
	one.list = namespacedList("30", attribute("n", "b", "b", 20))
	w := <-one.watches
	w.Error(&apierrors.NewResourceExpired("too old").ErrStatus)
	until(t, "what was missed is known", says(map[string]bool{"a": false, "hooked": false, "left": false, "b": true}))
}

// TestNotServed holds that a kind which is not served protects nothing and delays no request,
// and that a Protection does not become ready if the server stops while it waits.
func TestNotServed(t *testing.T) {
	p := New()
	p.SetKinds(registry.Kinds{})
	if set, synced := p.Set(); !synced || wanted(set, "n", "a") {
		t.Error("neither kind is served, and requests wait")
	}

	p = New()
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	if err := p.UseInformers(factory); err != nil {
		t.Fatal(err)
	}
	two := newStore(clusterList("5", attribute("", "a", "everywhere", 4)))
	p.SetKinds(registry.Kinds{Cluster: two.kind(&authority.ClusterProtectedAttribute{})})
	if _, synced := p.Set(); synced {
		t.Error("one kind is served, and was not listed")
	}
	if err := p.Run(ended(t)); err == nil {
		t.Error("the server ended, and all is known")
	}
	if _, synced := p.Set(); synced {
		t.Error("the server ended, and all is known")
	}
	close(two.open)
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if set, synced := p.Set(); !synced || !wanted(set, "n", "everywhere") {
		t.Error("the kind that is served protects nothing")
	}
}

// TestSetIsFree holds that Set makes no allocation.
func TestSetIsFree(t *testing.T) {
	p := New()
	p.SetKinds(registry.Kinds{})
	if n := testing.AllocsPerRun(100, func() { p.Set() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
