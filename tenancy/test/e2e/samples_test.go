// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

var update = flag.Bool("update-samples", false, "write docs/resource-samples from what the controller makes")

// TestSamples checks that the files in docs/resource-samples match the objects that the controller
// creates.
func TestSamples(t *testing.T) {
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "namespace-sample"}, Spec: v1alpha1.LNamespaceSpec{
		Users: []v1alpha1.Subject{user("ada")}, Managers: []v1alpha1.Subject{user("mia")}, Sudoers: []v1alpha1.Subject{user("richard"), {Kind: v1alpha1.GroupKind, Name: "operators"}},
		Billing: v1alpha1.Billing{Account: "4711"},
	}}
	shared.make(t, lns)
	tenant := lns.Name
	for file, object := range map[string]client.Object{
		"self-impersonator-cluster-role":                  &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: names.SudoerRole(tenant, "richard")}},
		"self-impersonator-cluster-role-binding":          &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: names.SudoerRole(tenant, "richard")}},
		"sudoer-impersonator-cluster-role":                &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: names.ImpersonatorRole(tenant)}},
		"sudoer-impersonator-cluster-role-binding":        &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: names.ImpersonatorRole(tenant)}},
		"sudoer-shared-impersonator-cluster-role":         &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: names.SharedImpersonatorRole(tenant)}},
		"sudoer-shared-impersonator-cluster-role-binding": &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: names.SharedImpersonatorRole(tenant)}},
		"sudoer-group-cluster-admin-role-binding":         &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: names.SudoBinding}},
		"sudoer-lnamespace-edit-cluster-role":             &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: names.EditRole(tenant)}},
		"sudoer-lnamespace-edit-cluster-role-binding":     &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: names.EditRole(tenant)}},
		"manager-cluster-role":                            &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: names.ManagerRole(tenant)}},
		"manager-cluster-role-binding":                    &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: names.ManagerRole(tenant)}},
		"user-role-binding":                               &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: names.UsersBinding}},
	} {
		shared.there(t, object)
		kind := "RoleBinding"
		switch object.(type) {
		case *rbacv1.ClusterRole:
			kind = "ClusterRole"
		case *rbacv1.ClusterRoleBinding:
			kind = "ClusterRoleBinding"
		}
		object.GetObjectKind().SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind))
		sample(t, file, object)
	}
	sampleRequests(t)
	sampleDelegation(t)
	if *update {
		t.Fatal("docs/resource-samples was written: look at the difference, and run the test again")
	}
}

// sampleRequests checks the samples for sudo on request.
func sampleRequests(t *testing.T) {
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "request-sample"}, Spec: v1alpha1.LNamespaceSpec{
		Managers: []v1alpha1.Subject{user("mia")}, Sudoers: []v1alpha1.Subject{user("richard")},
		Sudo: v1alpha1.Sudo{Approval: v1alpha1.ApprovalRequired},
	}}
	shared.make(t, lns)
	for file, name := range map[string]string{"sudo-requesters-role-binding": names.RequestBinding, "sudo-approvers-role-binding": names.ApproveBinding} {
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: name}}
		shared.there(t, binding)
		binding.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("RoleBinding"))
		sample(t, file, binding)
	}
}

// sampleDelegation checks the samples for sudo by delegation. The sample of the delegation has only
// the last rules, which depend on the tenant. The other rules depend on the version of the server.
func sampleDelegation(t *testing.T) {
	c := byDelegation(t)
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "namespace-sample"}, Spec: v1alpha1.LNamespaceSpec{
		Sudoers: []v1alpha1.Subject{user("richard")}, Billing: v1alpha1.Billing{Account: "4711"},
	}}
	c.make(t, lns)
	d := &authority.AuthorityDelegation{}
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: delegationOf(t, lns, user("richard")).Delegation}, d); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: names.SudoRole}, role); err != nil {
		t.Fatal(err)
	}
	if len(d.Spec.Rules) != len(role.Rules)+2 || len(d.Spec.Rules) > authority.MaxRules-2 {
		t.Errorf("%d rules of %d of sudo", len(d.Spec.Rules), len(role.Rules))
	}
	for i, rule := range role.Rules {
		if got := d.Spec.Rules[i]; !equality.Semantic.DeepEqual(got, rule) {
			t.Errorf("rule %d of sudo is %v, delegated %v", i, rule, got)
		}
	}
	d.Spec.Rules = d.Spec.Rules[len(role.Rules):]
	d.Status.Rules = nil
	for i := range d.Status.History {
		d.Status.History[i].Credential, d.Status.History[i].ByUID = "", "the UID of the controller's account"
	}
	d.Name = "lnamespace-sudo.namespace-sample.and-a-hash"
	d.SetGroupVersionKind(authority.SchemeGroupVersion.WithKind("AuthorityDelegation"))
	sample(t, "sudoer-authority-delegation", d)
	edit := &rbacv1.ClusterRole{}
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: names.EditRole(lns.Name)}, edit); err != nil {
		t.Fatal(err)
	}
	edit.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
	sample(t, "sudoer-delegation-lnamespace-edit-cluster-role", edit)
}

// sample compares an object with a file of docs/resource-samples. It ignores fields that differ
// from one run to the next, such as UIDs.
func sample(t *testing.T, file string, object client.Object) {
	t.Helper()
	object.SetManagedFields(nil)
	object.SetResourceVersion("")
	object.SetUID("")
	object.SetGeneration(0)
	object.SetCreationTimestamp(metav1.Time{})
	owners := object.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = "the UID of the LNamespace"
	}
	object.SetOwnerReferences(owners)
	got, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(shared.root, "docs", "resource-samples", file+".yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what the controller makes (-update-samples writes it):\n%s", path, got)
	}
}
