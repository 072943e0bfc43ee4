// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestNamesOfNewTenants creates LNamespaces with names that are dangerous for others, on a server
// without the webhooks of the controller.
//
// Attack: anybody creates the tenant `com`, so that pods resolve `github.com` in it, or takes the namespace of an
// add-on before the add-on is installed
// Was: got through
// Answer: no namespace, and a message that says why and proposes a name; an administrator may use the name, and a
// tenant that exists keeps it
// Held by: TestNamesThatAreRefused, TestLimitPerCreator
//
// Attack: anybody creates the namespace of a service account that a binding or a list names already
// Was: got through
// Answer: no namespace; an administrator may create it
// Held by: TestClaimedNames
func TestNamesOfNewTenants(t *testing.T) {
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "ghosts"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "ghost", Name: "robot"}}}
	create(t, shared.client, binding)
	t.Cleanup(func() {
		if err := shared.client.Delete(context.Background(), binding); err != nil {
			t.Error(err)
		}
	})
	listing := tenant("lists-a-ghost")
	listing.Spec.Users = append(listing.Spec.Users, v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Namespace: "listed-ghost", Name: "robot"})
	shared.make(t, listing)
	for name, reason := range map[string]string{
		"com": "NameRefused", "svc": "NameRefused", "cert-manager": "NameRefused", "x-system": "NameRefused",
		"ghost": "NameClaimed", "listed-ghost": "NameClaimed",
	} {
		lns := tenant(name)
		create(t, shared.as(t, "mallory"), lns)
		shared.waitReason(t, lns, reason)
		if err := shared.client.Get(t.Context(), client.ObjectKey{Name: name}, namespaceOf(name)); !apierrors.IsNotFound(err) {
			t.Errorf("the namespace %s: %v", name, err)
		}
		shared.refused(t, name+"-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(name))
		message := lns.Status.Conditions[0].Message
		if !strings.Contains(message, "choose another name, such as \"team-") {
			t.Errorf("%s: %s", name, message)
		}
		// Who created it can't say that it is allowed.
		forged := lns.DeepCopy()
		forged.Annotations[names.Allowed] = "true"
		if err := shared.as(t, name+"-manager").Patch(t.Context(), forged, client.MergeFrom(lns)); !forbidden(err) {
			t.Errorf("%s: allowed by its manager: %v", name, err)
		}
		if err := shared.client.Delete(t.Context(), lns); err != nil {
			t.Fatal(err)
		}
		shared.gone(t, lns)
		// An administrator who creates it does not allow it by that alone, and may not know what it creates.
		lns = tenant(name)
		create(t, shared.client, lns)
		shared.waitReason(t, lns, reason)
		before := lns.DeepCopy()
		lns.Annotations[names.Allowed] = "true"
		if err := shared.client.Patch(t.Context(), lns, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		shared.allowed(t, name+"-user", nil, "create", "deployments", name, "")
		if err := shared.client.Delete(t.Context(), lns); err != nil {
			t.Fatal(err)
		}
	}
	forged := tenant("allowed-by-itself")
	forged.Annotations = map[string]string{names.Allowed: "true"}
	if err := shared.as(t, "mallory").Create(t.Context(), forged); !forbidden(err) {
		t.Errorf("allowed by its creator: %v", err)
	}
}

// TestWhoCreatesLNamespaces checks who may create an LNamespace: a person, a service account with the
// role for that, but nobody with sudo.
//
// Attack: a pod creates LNamespaces by its service account, or a node does
// Was: got through
// Answer: 403 without the verb `provision`
//
// Attack: a caller creates an LNamespace with sudo, as a user that is in none of the groups of the person
// Was: got through
// Answer: 403
func TestWhoCreatesLNamespaces(t *testing.T) {
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "provisioner"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "lnamespace-provision"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "kube-public", Name: "robot"}}}
	create(t, shared.client, binding)
	t.Cleanup(func() {
		if err := shared.client.Delete(context.Background(), binding); err != nil {
			t.Error(err)
		}
	})
	shared.allowed(t, "somebody", nil, "create", "lnamespaces", "", "")
	shared.allowed(t, "system:serviceaccount:kube-public:robot", nil, "provision", "lnamespaces", "", "")
	group := names.SudoGroup("creators")
	for name, tc := range map[string]struct {
		who     client.Client
		allowed bool
	}{
		"a person":                          {shared.as(t, "creators-sudoer"), true},
		"the user for sudo":                 {shared.as(t, names.SudoerUser("creators", "creators-sudoer")), false},
		"the user for sudo, with the group": {shared.as(t, names.SudoerUser("creators", "creators-sudoer"), group), false},
		"the shared user":                   {shared.as(t, names.SudoUser("creators"), group), false},
		"a person with the group":           {shared.as(t, "creators-sudoer", group), false},
		"a service account":                 {shared.robot(t, "default"), false},
		"a service account with the role":   {shared.robot(t, "kube-public"), true},
		"a node":                            {shared.as(t, "system:node:n1", "system:nodes"), false},
	} {
		wait(t, name, func() error {
			err := tc.who.Create(t.Context(), tenant("created"), client.DryRunAll)
			if tc.allowed {
				return err
			}
			return wantForbidden(err)
		})
	}
}

// TestCreatorManagesByDefault checks that who creates an LNamespace without lists becomes its manager,
// and that an LNamespace without people causes a warning.
func TestCreatorManagesByDefault(t *testing.T) {
	shared.allowed(t, "somebody", nil, "create", "lnamespaces", "", "")
	for name, tc := range map[string]struct {
		who  string
		spec v1alpha1.LNamespaceSpec
		want string
	}{
		"no lists": {who: "creator", want: "[{User creator  }]"},
		"a user":   {who: "creator", spec: v1alpha1.LNamespaceSpec{Users: []v1alpha1.Subject{user("u")}}, want: "[]"},
		"billed":   {who: "creator", spec: v1alpha1.LNamespaceSpec{Billing: v1alpha1.Billing{Account: "1"}}, want: "[{User creator  }]"},
	} {
		lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "managed"}, Spec: tc.spec}
		wait(t, name, func() error {
			made := lns.DeepCopy()
			if err := shared.as(t, tc.who).Create(t.Context(), made, client.DryRunAll); err != nil {
				return err
			}
			if got := fmt.Sprint(made.Spec.Managers); got != tc.want {
				return fmt.Errorf("managers are %s", got)
			}
			return nil
		})
	}
	out, err := shared.kubectl("admin", "create", "--dry-run=server", "-f", "-")
	if err == nil {
		t.Errorf("an empty object was created: %s", out)
	}
	out, err = shared.command("admin", strings.NewReader(`{"apiVersion":"tenancy.kube-granular.dev/v1alpha1","kind":"LNamespace","metadata":{"name":"nobodys"}}`),
		"kubectl", "create", "--dry-run=server", "-f", "-")
	if err != nil || !strings.Contains(out, "only administrators may use or change this LNamespace") {
		t.Errorf("no warning: %v: %s", err, out)
	}
}

// TestLimitPerCreator checks that a person gets no namespace for an LNamespace beyond the limit, that
// the user for sudo does not help, and that administrators are not limited.
//
// Attack: a person creates any number of tenants
// Was: got through
// Answer: no namespace beyond the limit, until another LNamespace of the person is deleted
func TestLimitPerCreator(t *testing.T) {
	c := newCluster(t, "default", "--feature-gates", "GranularAuthorization=false")
	address := freeAddress(t)
	k := c.run(t, "--lnamespaces-per-creator", "2")
	c.allowed(t, "ada", nil, "create", "lnamespaces", "", "")
	wait(t, "the creator is recorded", func() error {
		lns := tenant("recorded")
		if err := c.as(t, "ada").Create(t.Context(), lns, client.DryRunAll); err != nil {
			return err
		}
		if lns.Annotations[names.Creator] != "ada" {
			return fmt.Errorf("%v", lns.Annotations)
		}
		return nil
	})
	var all []*v1alpha1.LNamespace
	for i := range 3 {
		lns := tenant(fmt.Sprintf("limit-%d", i))
		create(t, c.as(t, "ada"), lns)
		c.settled(t, lns)
		all = append(all, lns)
	}
	c.waitReason(t, all[2], "TooManyLNamespaces")
	for _, who := range []client.Client{c.as(t, "bob"), c.client} {
		lns := tenant("limit-of-others-" + fmt.Sprint(len(all)))
		create(t, who, lns)
		c.allowed(t, lns.Name+"-user", nil, "create", "deployments", lns.Name, "")
		all = append(all, lns)
	}
	// With the webhooks, the LNamespace is refused at once.
	c.install(t, address)
	if err := k.stop(); err != nil {
		t.Fatal(err)
	}
	c.withWebhooks(t, address, "--lnamespaces-per-creator", "2")
	if err := c.as(t, "ada").Create(t.Context(), tenant("limit-more")); !forbidden(err) || !strings.Contains(err.Error(), "and may create 2") {
		t.Errorf("one more: %v", err)
	}
	t.Run("names", func(t *testing.T) { webhooksRefuseNames(t, c) })
	for _, lns := range all[:2] {
		if err := c.client.Delete(t.Context(), lns); err != nil {
			t.Fatal(err)
		}
		c.gone(t, lns)
	}
	c.allowed(t, all[2].Name+"-user", nil, "create", "deployments", all[2].Name, "")
}

// webhooksRefuseNames checks that the webhook refuses the names for which the controller makes no
// namespace, and not to an administrator.
func webhooksRefuseNames(t *testing.T, c *cluster) {
	for _, name := range []string{"com", "x-system", "cert-manager"} {
		if err := c.as(t, "bob").Create(t.Context(), tenant(name), client.DryRunAll); !forbidden(err) || !strings.Contains(err.Error(), "such as") {
			t.Errorf("%s: %v", name, err)
		}
		lns := tenant(name)
		if err := c.client.Create(t.Context(), lns.DeepCopy(), client.DryRunAll); !forbidden(err) {
			t.Errorf("%s, by an administrator who does not allow it: %v", name, err)
		}
		lns.Annotations = map[string]string{names.Allowed: "true"}
		if err := c.client.Create(t.Context(), lns, client.DryRunAll); err != nil {
			t.Errorf("%s, by an administrator: %v", name, err)
		}
	}
	if err := c.as(t, "bob").Create(t.Context(), tenant("team-com"), client.DryRunAll); err != nil {
		t.Errorf("team-com: %v", err)
	}
	// The rules hold although the namespace exists: an administrator may hand it over later.
	create(t, c.client, namespaceOf("argocd"), namespaceOf("team-argocd"))
	if err := c.as(t, "bob").Create(t.Context(), tenant("argocd"), client.DryRunAll); !forbidden(err) ||
		!strings.Contains(err.Error(), "such as") {
		t.Errorf("argocd: %v", err)
	}
	if err := c.as(t, "bob").Create(t.Context(), tenant("team-argocd"), client.DryRunAll); err != nil {
		t.Errorf("team-argocd: %v", err)
	}
	if err := c.as(t, "ada").Create(t.Context(), tenant("team-argocd"), client.DryRunAll); !forbidden(err) ||
		!strings.Contains(err.Error(), "and may create 2") {
		t.Errorf("beyond the limit, of an existing namespace: %v", err)
	}
}
