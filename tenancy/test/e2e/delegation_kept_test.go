// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	authority "kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestSudoDelegatesNothing checks, on a server that serves delegations and with sudo by impersonation, that nobody delegates
// what it has by sudo, and that a delegation from before is left over when its maker leaves.
//
// Attack: where everybody may create delegations, a sudoer delegates with sudo, to itself, what sudo may do, and uses that after
// its request for sudo, its entry or its name in the list has ended
// Was: got through
// Answer: 403; a delegation of before is in `status.leftovers`, or removed; without sudo, people delegate their own rights
func TestSudoDelegatesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "default", "--feature-gates", gates)
	c.run(t)
	meta0 := metav1.ObjectMeta{Name: "everybody-delegates"}
	create(t, c.client,
		&rbacv1.ClusterRole{ObjectMeta: meta0, Rules: []rbacv1.PolicyRule{{APIGroups: []string{authority.GroupName},
			Resources: []string{"authoritydelegations"}, Verbs: []string{"get", "create", "update", "patch"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta0, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta0.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "system:authenticated"}}})
	lns := c.make(t, tenant("delegating"))
	bob, group := lns.Name+"-sudoer", names.SudoGroup(lns.Name)
	c.allowed(t, "x", []string{group}, "create", "secrets", lns.Name, "")
	c.allowed(t, lns.Name+"-user", nil, "create", "deployments", lns.Name, "")
	delegation := func(name, resource, api string) *authority.AuthorityDelegation {
		return &authority.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: authority.AuthorityDelegationSpec{
			Delegates: []authority.Delegate{{Kind: authority.DelegateUser, Name: bob}}, Scope: authority.DelegationScope{Namespace: lns.Name},
			Rules:  []rbacv1.PolicyRule{{APIGroups: []string{api}, Resources: []string{resource}, Verbs: []string{"create"}}},
			IfLost: authority.LossWithdraw}}
	}
	for name, tc := range map[string]struct {
		who             client.Client
		resource, group string
		refused         bool
	}{
		"with sudo":                 {c.as(t, names.SudoerUser(lns.Name, bob), group), "secrets", "", true},
		"as the shared user":        {c.as(t, names.SudoUser(lns.Name), group), "secrets", "", true},
		"as a member of the group":  {c.as(t, "somebody", group), "secrets", "", true},
		"without the group":         {c.as(t, names.SudoerUser(lns.Name, bob)), "lnamespaces", v1alpha1.GroupVersion.Group, true},
		"of another right":          {c.as(t, names.SudoerUser(lns.Name, bob), group), "pods", "", true},
		"as the controller does":    {c.as(t, names.SudoUser(lns.Name), group, names.Delegators), "secrets", "", false},
		"its own right, as oneself": {c.as(t, lns.Name+"-user"), "deployments", "apps", false},
	} {
		wait(t, name, func() error {
			err := tc.who.Create(t.Context(), delegation("attempt", tc.resource, tc.group), client.DryRunAll)
			switch {
			case !tc.refused:
				return err
			case !forbidden(err) || !strings.Contains(err.Error(), "nobody delegates what it has by sudo"):
				return fmt.Errorf("not refused: %v", err)
			}
			return nil
		})
	}
	// Before there was the policy.
	if out, err := c.kubectl("admin", "delete", "validatingadmissionpolicybinding", "lnamespace-delegations"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	kept := delegation("kept", "secrets", "")
	sudo := c.as(t, names.SudoerUser(lns.Name, bob), group)
	wait(t, "it delegates with sudo", func() error { return sudo.Create(t.Context(), kept) })
	if out, err := c.kubectl("admin", "apply", "--server-side", "-f", c.root+"/tenancy/config/policy/delegations.yaml"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wait(t, "it prolongs nothing", func() error {
		after := kept.DeepCopy()
		after.Spec.ExpirationTimestamp = &metav1.Time{Time: time.Now().Add(time.Hour)}
		return wantForbidden(sudo.Patch(t.Context(), after, client.MergeFrom(kept), client.DryRunAll))
	})
	c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = []v1alpha1.Subject{user("delegating-next")} })
	c.reports(t, lns, "[{AuthorityDelegation kept "+bob+"}]")
	if !meta.IsStatusConditionFalse(lns.Status.Conditions, v1alpha1.ConditionClean) {
		t.Errorf("%+v", lns.Status.Conditions)
	}
	left := c.under(t, selection.AuthorityReference{Kind: selection.AuthorityDelegationKind, Name: kept.Name}, bob)
	if err := left.Create(t.Context(), secret(lns.Name, "left"), client.DryRunAll); err != nil {
		t.Errorf("the delegation of before: %v", err)
	}
	c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudo.AtRevocation = v1alpha1.RemoveLeftovers })
	c.gone(t, kept)
	c.reports(t, lns, "[]")
}
