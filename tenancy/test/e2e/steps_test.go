// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// user returns a subject of kind User.
func user(name string) v1alpha1.Subject { return v1alpha1.Subject{Kind: v1alpha1.UserKind, Name: name} }

// tenant returns an LNamespace with one user, one manager, one sudoer and an account.
func tenant(name string) *v1alpha1.LNamespace {
	return &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.LNamespaceSpec{
		Users:    []v1alpha1.Subject{user(name + "-user")},
		Managers: []v1alpha1.Subject{user(name + "-manager")},
		Sudoers:  []v1alpha1.Subject{user(name + "-sudoer")},
		Billing:  v1alpha1.Billing{Account: "acc-" + name},
	}}
}

// as returns a client that impersonates a user with groups.
func (c *cluster) as(t *testing.T, name string, groups ...string) client.Client {
	t.Helper()
	config := rest.CopyConfig(c.admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:authenticated")}
	other, err := client.New(config, client.Options{Scheme: c.client.Scheme(), Mapper: c.client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// make creates a tenant as a user who has only the permissions of all authenticated users, and
// waits until the controller has reconciled the tenant.
func (c *cluster) make(t *testing.T, lns *v1alpha1.LNamespace) *v1alpha1.LNamespace {
	t.Helper()
	wait(t, "everyone may create LNamespaces", func() error { return c.may("somebody", nil, "create", "lnamespaces", "", "", true) })
	if err := c.as(t, "somebody").Create(t.Context(), lns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.client.Delete(context.Background(), lns); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	c.settled(t, lns)
	return lns
}

// settled waits until the condition Ready is for the newest generation.
func (c *cluster) settled(t *testing.T, lns *v1alpha1.LNamespace) {
	t.Helper()
	wait(t, lns.Name+" is settled", func() error {
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(lns.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.ObservedGeneration != lns.Generation || ready.Reason == "GrantsFailed" {
			return fmt.Errorf("generation %d, ready %+v", lns.Generation, ready)
		}
		return nil
	})
}

// change changes a tenant as the administrator, and waits until the controller has reconciled it.
func (c *cluster) change(t *testing.T, lns *v1alpha1.LNamespace, change func(*v1alpha1.LNamespaceSpec)) {
	t.Helper()
	before := lns.DeepCopy()
	change(&lns.Spec)
	if err := c.client.Patch(t.Context(), lns, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	c.settled(t, lns)
}

// may sends an access review, and returns an error unless the result is want.
func (c *cluster) may(name string, groups []string, verb, resource, namespace, object string, want bool) error {
	group := map[string]string{
		"lnamespaces": v1alpha1.GroupVersion.Group, "sudorequests": v1alpha1.GroupVersion.Group, "rolebindings": "rbac.authorization.k8s.io", "roles": "rbac.authorization.k8s.io",
		"deployments": "apps", "protectedattributes": "authority.kube-granular.dev", "clusterroles": "rbac.authorization.k8s.io",
		"widgets": "e2e.example.com", "endpointslices": "discovery.k8s.io",
	}[resource]
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: name, Groups: append([]string{"system:authenticated"}, groups...),
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource,
			Namespace: namespace, Name: object},
	}}
	if err := c.client.Create(context.Background(), review); err != nil {
		return err
	}
	if review.Status.Allowed != want {
		return fmt.Errorf("%s %v, %s %s %s/%s: allowed is %t", name, groups, verb, resource, namespace, object, review.Status.Allowed)
	}
	return nil
}

// allowed waits until an access review allows the request, and refused until it does not. Both wait
// because the authorizer sees a change of RBAC objects only a moment after the controller's write.
func (c *cluster) allowed(t *testing.T, name string, groups []string, verb, resource, namespace, object string) {
	t.Helper()
	wait(t, "it is allowed", func() error { return c.may(name, groups, verb, resource, namespace, object, true) })
}

func (c *cluster) refused(t *testing.T, name string, groups []string, verb, resource, namespace, object string) {
	t.Helper()
	wait(t, "it is refused", func() error { return c.may(name, groups, verb, resource, namespace, object, false) })
}

// wait waits until f returns no error.
func wait(t *testing.T, what string, f func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for: %s: %v", what, err)
		}
		<-tick.C
	}
}

// forbidden reports whether err is the answer 403 Forbidden.
func forbidden(err error) bool { return apierrors.IsForbidden(err) }
