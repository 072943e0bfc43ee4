// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// nobody are references to an owner that does not exist. The garbage collector deletes an object
// whose owners do not exist.
var nobody = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "nobody", UID: "nobody"}}

// holds binds a user to a new role with verbs on one LNamespace, or on all if lns is empty.
func (c *cluster) holds(t *testing.T, name, lns string, verbs ...string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: name}
	var only []string
	if lns != "" {
		only = []string{lns}
	}
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{v1alpha1.GroupVersion.Group},
			Resources: []string{"lnamespaces"}, ResourceNames: only, Verbs: verbs}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}}},
	} {
		if err := c.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.client.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		})
	}
	for _, verb := range verbs {
		c.allowed(t, name, nil, verb, "lnamespaces", "", lns)
	}
}

// TestOwners changes the owners of an LNamespace, on a server that does not authorize fields.
//
// Attack: a caller who may update an LNamespace and not delete it names an owner that does not exist, or takes
// an owner away, so that the garbage collector deletes the LNamespace and its namespace
// Was: got through
// Answer: 403 by the admission policy, by the webhook alone and by the field permissions; a caller who may
// delete the LNamespace may do so
// Held by: TestManagerIsNoSudoer, TestGranularServer, TestWebhooks
func TestOwners(t *testing.T) {
	plain, owned, lists, all := tenant("owners-plain"), tenant("owners-owned"), tenant("owners-lists"), tenant("owners-all")
	owned.OwnerReferences = nobody
	lists.Spec.Sudo.Allow = []v1alpha1.SudoAllowance{v1alpha1.AllowLists}
	all.Spec.Sudo.Allow = []v1alpha1.SudoAllowance{v1alpha1.AllowLists, v1alpha1.AllowDelete}
	for _, lns := range []*v1alpha1.LNamespace{plain, owned, lists, all} {
		shared.make(t, lns)
		if lns != plain && lns != owned {
			shared.allowed(t, "x", []string{names.SudoGroup(lns.Name)}, "patch", "lnamespaces", "", lns.Name)
		}
	}
	shared.allowed(t, "x", []string{names.SudoGroup(all.Name)}, "delete", "lnamespaces", "", all.Name)
	shared.holds(t, "owners-updater", plain.Name, "update", "patch")
	shared.holds(t, "owners-deleter", plain.Name, "update", "patch", "delete")
	shared.holds(t, "owners-updater-2", owned.Name, "update", "patch")
	shared.holds(t, "owners-deleter-2", owned.Name, "update", "patch", "delete")
	shared.allowed(t, "owners-plain-manager", nil, "patch", "lnamespaces", "", plain.Name)
	for _, tc := range []struct {
		who     string
		groups  []string
		lns     *v1alpha1.LNamespace
		owners  []metav1.OwnerReference
		allowed bool
	}{
		{who: "owners-updater", lns: plain, owners: nobody},
		{who: "owners-plain-manager", lns: plain, owners: nobody},
		{who: "owners-plain-manager", lns: plain, allowed: true}, // changes a label only
		{who: "owners-updater", lns: plain, allowed: true},
		{who: "owners-deleter", lns: plain, owners: nobody, allowed: true},
		{who: "owners-updater-2", lns: owned},
		{who: "owners-updater-2", lns: owned, owners: nobody, allowed: true},
		{who: "owners-deleter-2", lns: owned, allowed: true},
		{who: "x", groups: []string{names.SudoGroup(lists.Name)}, lns: lists, owners: nobody},
		{who: "x", groups: []string{names.SudoGroup(lists.Name)}, lns: lists, allowed: true},
		{who: "x", groups: []string{names.SudoGroup(all.Name)}, lns: all, owners: nobody, allowed: true},
	} {
		after := tc.lns.DeepCopy()
		after.OwnerReferences = tc.owners
		after.Labels = map[string]string{"changed-by": tc.who}
		err := shared.as(t, tc.who, tc.groups...).Patch(t.Context(), after, client.MergeFrom(tc.lns))
		if tc.allowed && err != nil || !tc.allowed && !forbidden(err) {
			t.Errorf("%s %v, owners %v of %s: %v", tc.who, tc.groups, tc.owners, tc.lns.Name, err)
		}
	}
}
