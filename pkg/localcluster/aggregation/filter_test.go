// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// role returns a ClusterRole with one rule, whose verb is the name of the role.
func role(name string, set map[string]string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: set},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{name}}}}
}

// gathering returns a ClusterRole that gathers the rules of the roles with a label.
func gathering(name string, set map[string]string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name},
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: set}}}}
}

// eventually waits until a function returns what is wanted.
func eventually(t *testing.T, what string, want []string, found func() []string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for got := found(); !slices.Equal(got, want); got = found() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: got %v, want %v", what, got, want)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestRolesAreGathered runs the controller, and changes roles and what selects them in each way.
func TestRolesAreGathered(t *testing.T) {
	one, two := map[string]string{"to": "one"}, map[string]string{"to": "two"}
	client := fake.NewClientset(role("before", one), gathering("all", one), gathering("chain", map[string]string{"to": "chain"}))
	ctx, cancel := context.WithCancel(t.Context())
	wait, err := start(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); wait() }()
	roles := client.RbacV1().ClusterRoles()
	verbs := func(name string) func() []string {
		return func() (all []string) {
			t.Helper()
			found, err := roles.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, rule := range found.Rules {
				all = append(all, rule.Verbs...)
			}
			return all
		}
	}
	change := func(name string, f func(*rbacv1.ClusterRole)) {
		t.Helper()
		found, err := roles.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f(found)
		if _, err := roles.Update(ctx, found, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create := func(c kubernetes.Interface, made *rbacv1.ClusterRole) {
		t.Helper()
		if _, err := c.RbacV1().ClusterRoles().Create(ctx, made, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "at the start", []string{"before"}, verbs("all"))
	create(client, role("new", one))
	create(client, role("other", two))
	eventually(t, "a new role", []string{"before", "new"}, verbs("all"))
	change("other", func(r *rbacv1.ClusterRole) { r.Labels = one })
	eventually(t, "a role that got the label", []string{"before", "new", "other"}, verbs("all"))
	change("new", func(r *rbacv1.ClusterRole) { r.Rules[0].Verbs = []string{"changed"} })
	eventually(t, "a role with other rules", []string{"before", "changed", "other"}, verbs("all"))
	change("new", func(r *rbacv1.ClusterRole) { r.Labels = nil })
	eventually(t, "a role that lost the label", []string{"before", "other"}, verbs("all"))
	change("new", func(r *rbacv1.ClusterRole) { r.Labels = two })
	change("all", func(r *rbacv1.ClusterRole) { r.AggregationRule.ClusterRoleSelectors[0].MatchLabels = two })
	eventually(t, "an aggregated role that selects others", []string{"changed"}, verbs("all"))
	create(client, gathering("late", one))
	eventually(t, "an aggregated role that is younger than the roles", []string{"before", "other"}, verbs("late"))
	change("late", func(r *rbacv1.ClusterRole) { r.Labels = map[string]string{"to": "chain"} })
	eventually(t, "an aggregated role that gathers an aggregated role", []string{"before", "other"}, verbs("chain"))
	if err := roles.Delete(ctx, "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a role is gone", []string{"other"}, verbs("late"))
	eventually(t, "a role is gone, seen through a chain", []string{"other"}, verbs("chain"))
}

// TestEventsAreFiltered checks that the controller gets no event of roles that no aggregated role selects.
func TestEventsAreFiltered(t *testing.T) {
	client := fake.NewClientset(gathering("all", map[string]string{"to": "one"}))
	factory := informers.NewSharedInformerFactory(client, 0)
	roles, err := newFiltered(factory.Rbac().V1().ClusterRoles())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	add := func(what string, object any) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, what+" "+object.(*rbacv1.ClusterRole).Name)
	}
	if _, err := roles.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { add("add", object) }, DeleteFunc: func(object any) { add("delete", object) },
		UpdateFunc: func(_, object any) { add("update", object) },
	}); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	all := client.RbacV1().ClusterRoles()
	for i := range 50 {
		other := role(fmt.Sprint("tenant-", i), map[string]string{"to": "tenant"})
		if _, err := all.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	made, err := all.Create(t.Context(), role("last", map[string]string{"to": "one"}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Labels = nil
	if _, err := all.Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "events", []string{"add all", "add last", "delete last"}, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	})
	if !roles.Informer().(filteredEvents).matters(cache.DeletedFinalStateUnknown{}) {
		t.Error("a deletion without the object does not matter")
	}
}
