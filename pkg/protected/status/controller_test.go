// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"strconv"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/client/clientset/versioned/fake"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/protected"
	registry "kube-granular.dev/pkg/registry/authority"
)

// knowing returns a Protection with the given attributes, and with the role "setter", which is
// bound to bob.
func knowing(t *testing.T, attributes ...authority.Attribute) *protected.Protection {
	t.Helper()
	factory := informers.NewSharedInformerFactory(kubefake.NewClientset(
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "setter", UID: "r"}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "setter"},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: "bob"}},
		},
	), 0)
	p := protected.New()
	if err := p.UseInformers(factory); err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	p.SetKinds(registry.Kinds{})
	for i, a := range attributes {
		p.Observe(stored(a, i+1), false)
	}
	return p
}

// stored returns an attribute with a resource version.
func stored(a authority.Attribute, version int) authority.Attribute {
	a.SetResourceVersion(strconv.Itoa(version))
	return a
}

func objects(attributes ...authority.Attribute) (out []runtime.Object) {
	for _, a := range attributes {
		switch of := a.(type) {
		case *authority.ProtectedAttribute:
			out = append(out, (*v1alpha1.ProtectedAttribute)(of).DeepCopy())
		case *authority.ClusterProtectedAttribute:
			out = append(out, (*v1alpha1.ClusterProtectedAttribute)(of).DeepCopy())
		}
	}
	return out
}

func writes(client *fake.Clientset) (n int) {
	for _, a := range client.Actions() {
		if a.GetVerb() != "update" {
			continue
		}
		if a.GetSubresource() != "status" {
			n += 1000
		}
		n++
	}
	return n
}

// TestRound holds that the server that holds the Lease writes each status that is out of date,
// that the other servers only add the violations that they counted, and that no server writes a
// status that is up to date.
func TestRound(t *testing.T) {
	one := referring()
	two := &authority.ClusterProtectedAttribute{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "2"},
		Spec: one.Spec}
	p, client := knowing(t, one, two), fake.NewSimpleClientset(objects(one, two)...)
	c := New(p, client)
	if !c.writeAll(t.Context(), false) || writes(client) != 0 {
		t.Errorf("%d writes of a server that does not lead", writes(client))
	}
	p.CountViolations("n", "a", "b")
	p.CountViolations("n", "a")
	p.CountViolations("", "other")
	if !c.writeAll(t.Context(), false) || writes(client) != 1 {
		t.Errorf("%d writes of what was counted", writes(client))
	}
	got, err := client.AuthorityV1alpha1().ProtectedAttributes("n").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || got.Status.AuditViolations != 7 || got.Status.ObservedGeneration != 0 {
		t.Errorf("%+v, %v", got.Status, err)
	}
	if p.Violations("n", "a") != 0 || p.Violations("n", "b") != 0 || p.Violations("", "other") != 0 {
		t.Error("what was counted is kept")
	}

	client.ClearActions()
	if !c.writeAll(t.Context(), true) || writes(client) != 2 {
		t.Errorf("%d writes of the server that leads", writes(client))
	}
	everywhere, err := client.AuthorityV1alpha1().ClusterProtectedAttributes().Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || everywhere.Status.HolderCount != 1 || everywhere.Status.Holders[0].Name != "bob" || everywhere.Status.Role.UID != "r" {
		t.Errorf("%+v, %v", everywhere.Status, err)
	}
	client.ClearActions()
	p.Observe(stored((*authority.ClusterProtectedAttribute)(everywhere), 10), false)
	c.writeAll(t.Context(), true)
	for _, a := range client.Actions() {
		if a.GetResource().Resource == "clusterprotectedattributes" {
			t.Errorf("a status that is as it should be is written: %v", a)
		}
	}
}

// TestFailures holds that a status write that failed is tried again, with the violations that
// were counted.
func TestFailures(t *testing.T) {
	one := referring()
	p, client := knowing(t, one), fake.NewSimpleClientset(objects(one)...)
	fails := error(nil)
	client.PrependReactor("update", "protectedattributes", func(clienttesting.Action) (bool, runtime.Object, error) { return fails != nil, nil, fails })
	c, reported := New(p, client), reports(t, "The status of a protected attribute was not written")
	p.CountViolations("n", "a")
	for _, fails = range []error{apierrors.NewConflict(v1alpha1.Resource("protectedattributes"), "a", errors.New("changed")), errors.New("no storage")} {
		if c.writeAll(t.Context(), true) || p.Violations("n", "a") != 1 {
			t.Errorf("%v: it went well", fails)
		}
	}
	if reported.Load() != 1 {
		t.Errorf("%d reports: a conflict is no fault, and no storage is one", reported.Load())
	}
	// A write that fails because the server ends is no failure.
	ended, end := context.WithCancel(t.Context())
	if end(); !c.writeAll(ended, true) {
		t.Error("a server that ends tries again")
	}
	fails = nil
	if !c.writeAll(t.Context(), true) || p.Violations("n", "a") != 0 {
		t.Error("it is not tried again")
	}
}

// TestNothingCounted holds that the status of an attribute without counted violations is
// written.
func TestNothingCounted(t *testing.T) {
	one := referring()
	client := fake.NewSimpleClientset(objects(one)...)
	if !New(knowing(t, one), client).writeAll(t.Context(), true) || writes(client) != 1 {
		t.Errorf("%d writes", writes(client))
	}
}
