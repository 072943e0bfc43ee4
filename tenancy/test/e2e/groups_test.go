// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestSudoerCanNotShedItsGroups checks that a sudoer impersonates only a user of its own, which has no
// rights outside the tenant, and that the objects of this user count as those of the person.
//
// Attack: anybody creates an LNamespace, becomes its sudoer, and impersonates itself without its groups, so that
// what is denied to a group is allowed
// Was: got through
// Answer: 403; it may impersonate a user that exists for sudo alone, and has no rights but those of everybody
// outside the tenant
//
// Attack: a sudoer impersonates the user that exists for another sudoer, or for itself in another tenant
// Answer: 403
// Held by: TestRights, TestPlugins
func TestSudoerCanNotShedItsGroups(t *testing.T) {
	const me = "shed-sudoer"
	lns, other := tenant("shed"), shared.make(t, tenant("shed-other"))
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, user("shed-colleague"))
	shared.make(t, lns)
	own := names.SudoerUser(lns.Name, me)
	shared.allowed(t, me, nil, "impersonate", "users", "", own)
	for _, name := range []string{me, "shed-colleague", names.SudoerUser(lns.Name, "shed-colleague"), names.SudoerUser(other.Name, me), names.SudoUser(lns.Name)} {
		if err := shared.may(me, nil, "impersonate", "users", "", name, false); err != nil {
			t.Error(err)
		}
	}
	// What the person may do elsewhere, its user may not.
	create(t, shared.client, bindingTo("ClusterRole", "edit", other.Name, "guest", me))
	shared.allowed(t, me, nil, "create", "deployments", other.Name, "")
	if err := shared.may(own, nil, "create", "deployments", other.Name, "", false); err != nil {
		t.Error(err)
	}
	sudo := shared.sudo(t, own, lns.Name)
	made := bindingTo("ClusterRole", "view", lns.Name, "made", "friend")
	create(t, sudo, made)
	if made.Annotations[names.Maker] != me {
		t.Errorf("the maker is %v", made.Annotations)
	}
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = s.Sudoers[1:] })
	shared.reports(t, lns, "[{RoleBinding made shed-sudoer}]")
	shared.refused(t, me, nil, "impersonate", "users", "", own)
}

// TestSelfRolesOfBeforeGo checks that the controller deletes the roles by which an earlier version let
// sudoers impersonate themselves, and no other role.
func TestSelfRolesOfBeforeGo(t *testing.T) {
	name := metav1.ObjectMeta{Name: "lnamespace-self:ada:0", Labels: map[string]string{names.ManagedBy: names.Manager, names.SelfImpersonator: "true"}}
	like := metav1.ObjectMeta{Name: "lnamespace-self:bob:0", Labels: map[string]string{names.SelfImpersonator: "true"}}
	ada := []client.Object{&rbacv1.ClusterRole{ObjectMeta: name}, &rbacv1.ClusterRoleBinding{ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name}}}
	bob := &rbacv1.ClusterRole{ObjectMeta: like}
	create(t, shared.client, bob)
	create(t, shared.client, ada...)
	for _, object := range ada {
		shared.gone(t, object)
	}
	shared.there(t, bob)
	if err := shared.client.Delete(t.Context(), bob); err != nil {
		t.Error(err)
	}
}

// denial makes a policy that denies ConfigMaps with the label denied to a group.
func (c *cluster) denial(t *testing.T, group string) {
	t.Helper()
	fail, reason := admissionregistrationv1.Fail, metav1.StatusReasonForbidden
	meta := metav1.ObjectMeta{Name: "deny-" + group}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}}}},
		Validations: []admissionregistrationv1.Validation{{Reason: &reason, Expression: fmt.Sprintf("!('denied' in object.metadata.?labels.orValue({})) || !('%s' in request.userInfo.?groups.orValue([]))", group)}},
	}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: meta.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}}}
	create(t, c.client, policy, binding)
	t.Cleanup(func() {
		for _, object := range []client.Object{binding, policy} {
			if err := c.client.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestDenialsByGroupUnderSudo shows what is not promised: inside its tenant, a policy that denies by
// group does not see the groups of a person who uses sudo by impersonation. It does see them if sudo is
// a delegation.
func TestDenialsByGroupUnderSudo(t *testing.T) {
	config := func(name, namespace string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"denied": ""}}}
	}
	const group = "contractors"
	for _, c := range []*cluster{shared, byDelegation(t)} {
		lns := tenant("denials")
		lns.Spec.Users = []v1alpha1.Subject{user("denials-sudoer")}
		c.make(t, lns)
		c.denial(t, group)
		plain := c.as(t, "denials-sudoer", group)
		c.allowed(t, "denials-sudoer", nil, "create", "configmaps", lns.Name, "")
		wait(t, "the policy denies", func() error {
			return wantForbidden(plain.Create(t.Context(), config("plain", lns.Name), client.DryRunAll))
		})
		if c == shared {
			create(t, c.sudo(t, names.SudoerUser(lns.Name, "denials-sudoer"), lns.Name), config("sudo", lns.Name))
			continue
		}
		sudo := c.under(t, byName(delegationOf(t, lns, user("denials-sudoer"))), "denials-sudoer", group)
		works(t, sudo, lns.Name)
		if err := sudo.Create(t.Context(), config("sudo", lns.Name)); !forbidden(err) {
			t.Errorf("by delegation: %v", err)
		}
	}
}
