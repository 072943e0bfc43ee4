// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/internal/names"
)

// noStatus is a policy that refuses each status of an LNamespace.
const noStatus = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-status}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [tenancy.kube-granular.dev], apiVersions: ["*"], operations: [UPDATE], resources: [lnamespaces/status]}]
  validations: [{expression: "false", reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-status}
spec: {policyName: no-status, validationActions: [Deny]}
`

// TestStoppedBeforeTheFirstStatus stops the controller after it granted permissions to a new tenant, and
// before it wrote a status. Meanwhile, the namespace becomes that of somebody else, and the label of a
// binding is removed. When the controller is back, nobody has permissions.
//
// Attack: a manager keeps the rights of a tenant whose namespace changed hands before the first status was written
// Answer: without a status, the controller asks the server about each object that it could have made
func TestStoppedBeforeTheFirstStatus(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "default", "--feature-gates", "GranularAuthorization=false")
	if out, err := c.command("admin", strings.NewReader(noStatus), "kubectl", "apply", "-f", "-"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lns := tenant("first")
	if err := c.client.Create(t.Context(), lns); err != nil {
		t.Fatal(err)
	}
	// The server enforces a new policy after a moment.
	wait(t, "no status is written", func() error {
		status := lns.DeepCopy()
		status.Status.SudoGroup = "x"
		return wantForbidden(c.client.Status().Patch(t.Context(), status, client.MergeFrom(lns), client.DryRunAll))
	})
	k := c.run(t)
	manager := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: names.ManagerRole(lns.Name)}}
	users := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: names.UsersBinding}}
	c.there(t, manager)
	c.there(t, users)
	if err := k.kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil || len(lns.Status.Conditions) > 0 || lns.Status.NamespaceUID != "" {
		t.Fatalf("there is a status: %+v, %v", lns.Status, err)
	}
	for object, patch := range map[client.Object]string{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: lns.Name}}: `{"metadata":{"annotations":{"` + names.CreatedFor + `":null}}}`,
		manager: `{"metadata":{"labels":null}}`,
	} {
		if err := c.client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := c.kubectl("admin", "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "no-status"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.run(t)
	c.waitReason(t, lns, "NamespaceNotOurs")
	c.gone(t, manager)
	// In a namespace of others, the controller deletes only what has its label.
	c.gone(t, users)
}

// TestUnlabelledRoles checks that a binding of the sudoers' group without the controller's label, which the
// lists do not grant, is removed at once, and not only when the lists change.
//
// Attack: who may create ClusterRoleBindings for a moment leaves one with a name of the controller and without its
// label
// Was: got through until the next change of the lists
// Answer: the controller sees objects without its label too, and deletes it
func TestUnlabelledRoles(t *testing.T) {
	lns := shared.make(t, tenant("unlabelled"))
	intruder := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: names.ImpersonatorRole(lns.Name)},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: sudoerRole(lns.Name, lns.Name+"-sudoer").Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "intruder"}}}
	other := intruder.DeepCopy()
	other.Name = "lnamespace:none:sudoer-impersonator" // there is no such tenant
	create(t, shared.client, intruder, other)
	shared.gone(t, intruder)
	shared.there(t, other)
	if err := shared.client.Delete(t.Context(), other); err != nil {
		t.Error(err)
	}
}
