// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

func rowOf(t *testing.T, shown table, obj *authority.AuthorityDelegation) string {
	t.Helper()
	got, err := shown.ConvertToTable(t.Context(), obj, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 1 || len(got.Rows[0].Cells) != len(got.ColumnDefinitions) {
		t.Fatalf("%v", got)
	}
	got.DeepCopy() // as the audit log does
	return strings.TrimSuffix(fmt.Sprintln(got.Rows[0].Cells...), "\n")
}

// TestDelegationTable checks the content of the columns that kubectl get prints of a delegation.
func TestDelegationTable(t *testing.T) {
	idle := int64(7200)
	moment := func(d time.Duration) *metav1.Time { t := metav1.NewTime(time.Now().Add(d)); return &t }
	for want, change := range map[string]func(*authority.AuthorityDelegation){
		"a jane bob get pods n <no end> own - <unknown> Withdraw 0 <unknown>": func(*authority.AuthorityDelegation) {},
		"a jane bob get pods <cluster> <no end> own - <unknown> Keep 1 <unknown>": func(d *authority.AuthorityDelegation) {
			d.Spec.Scope, d.Spec.IfLost = v1alpha1.DelegationScope{Cluster: true}, v1alpha1.LossKeep
			d.Spec.Conditions = make([]v1alpha1.DelegationCondition, 1)
		},
		"a jane group team,n/robot ClusterRole/view n <expired> policy p - 5m Withdraw 0 3m": func(d *authority.AuthorityDelegation) {
			d.Spec.Delegates = []v1alpha1.Delegate{{Kind: v1alpha1.DelegateGroup, Name: "team"}, {Kind: v1alpha1.DelegateServiceAccount, Namespace: "n", Name: "robot"}}
			d.Spec.RoleRef, d.Status.ExpirationTimestamp = &v1alpha1.DelegatedRole{Kind: "ClusterRole", Name: "view"}, moment(-time.Second)
			d.Status.Cause, d.Status.LastUsed, d.CreationTimestamp = &v1alpha1.DelegationCause{Policy: "p"}, moment(-3*time.Minute), *moment(-5 * time.Minute)
		},
		"a jane bob 2 rules n <unused 120m> joe by d, impersonated by root, token of Pod/p agents/scaler <unknown> Withdraw 0 <unknown>": func(d *authority.AuthorityDelegation) {
			d.Spec.Rules, d.Spec.IdleSeconds = make([]rbacv1.PolicyRule, 2), &idle
			d.Status.History = []v1alpha1.ChainEntry{
				{Via: v1alpha1.ViaDelegation, By: "joe", Name: "d"}, {Via: v1alpha1.ViaImpersonation, By: "root"},
				{Via: v1alpha1.ViaToken, Name: "Pod/p"}, {Via: v1alpha1.ViaToken},
			}
		},
		"a jane bob get,list,watch + 1 more pods,/metrics n 59m own - <unknown> Withdraw 0 <unknown>": func(d *authority.AuthorityDelegation) {
			d.Spec.Rules = []rbacv1.PolicyRule{{Verbs: []string{"get", "list", "watch", "patch"}, Resources: []string{"pods"}, NonResourceURLs: []string{"/metrics"}}}
			d.Spec.IdleSeconds, d.Status.ExpirationTimestamp = &idle, moment(time.Hour-time.Second)
		},
		"a jane bob get pods n <deleted> own - <unknown> Withdraw 0 <unknown>": func(d *authority.AuthorityDelegation) {
			d.DeletionTimestamp, d.Status.ExpirationTimestamp = moment(0), moment(time.Hour)
		},
	} {
		d := delegationOf("a")
		d.Status.Delegator.Username = "jane"
		change(d)
		bound := func(types.UID) string {
			if len(d.Status.History) > 0 {
				return "system:serviceaccount:agents:scaler"
			}
			return ""
		}
		if got := rowOf(t, delegationTable(bound), d); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	for name, shown := range map[string]table{"delegations": delegationTable(nil), "policies": policyTable} {
		if _, err := shown.ConvertToTable(t.Context(), attribute("a"), nil); err == nil {
			t.Errorf("the table of %s takes a protected attribute", name)
		}
	}
}
