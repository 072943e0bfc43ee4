// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// TestTable checks the content of the columns that kubectl get prints.
func TestTable(t *testing.T) {
	plain := attribute("plain")
	full := attribute("full")
	full.Spec = v1alpha1.ProtectedAttributeSpec{
		AttributeKind: v1alpha1.AttributeAnnotation, AttributeName: "example.com/*", Mode: v1alpha1.ModeAudit,
		RoleRef:          &v1alpha1.RoleReference{Kind: "ClusterRole", Name: "setter"},
		AllowedValues:    []string{"a", "b", "c", "d", "e"},
		Resources:        []v1alpha1.GroupResource{{Resource: "pods"}, {Group: "apps", Resource: "deployments"}},
		ExcludeResources: []v1alpha1.GroupResource{{Group: "apps", Resource: "replicasets"}},
	}
	full.Status = v1alpha1.ProtectedAttributeStatus{
		HolderCount: 3, AuditViolations: 9,
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue}},
	}
	some := attribute("some")
	some.Spec.ProtectedValues = []string{"a"}
	list := &authority.ProtectedAttributeList{
		ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more"},
		Items:    []authority.ProtectedAttribute{*plain, *full, *some},
	}
	got, err := attributeTable.ConvertToTable(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	got.DeepCopy() // as the audit log does
	if got.ResourceVersion != "7" || got.Continue != "more" {
		t.Errorf("the table is of version %q and continues at %q", got.ResourceVersion, got.Continue)
	}
	want := []string{
		"plain Label example.com/tier <verb> Enforce Unknown <unknown> <all> <all> 0 0",
		"full Annotation example.com/* ClusterRole/setter Audit True <unknown> only a,b,c + 2 more pods,deployments.apps but replicasets.apps 3 9",
		"some Label example.com/tier <verb> Enforce Unknown <unknown> a <all> 0 0",
	}
	for i, row := range got.Rows {
		if len(row.Cells) != len(got.ColumnDefinitions) {
			t.Errorf("%d cells in %d columns", len(row.Cells), len(got.ColumnDefinitions))
		}
		if text := strings.TrimSuffix(fmt.Sprintln(row.Cells...), "\n"); text != want[i] {
			t.Errorf("got  %s\nwant %s", text, want[i])
		}
		if row.Object.Object == nil {
			t.Errorf("row %d has no object", i)
		}
	}
	one, err := attributeTable.ConvertToTable(t.Context(), &authority.ClusterProtectedAttribute{ObjectMeta: metav1.ObjectMeta{Name: "c", ResourceVersion: "3"}}, &metav1.TableOptions{NoHeaders: true})
	if err != nil || len(one.Rows) != 1 || len(one.ColumnDefinitions) != 0 || one.ResourceVersion != "3" {
		t.Errorf("one object without headers: %v, error %v", one, err)
	}
	for want, obj := range map[string]runtime.Object{
		"*v1.Status is not a protected attribute": &metav1.Status{},
		"*authority.AuthorityDelegation is not a protected attribute": &authority.AuthorityDelegationList{
			Items: []authority.AuthorityDelegation{*delegationOf("a")}},
	} {
		if _, err := attributeTable.ConvertToTable(t.Context(), obj, nil); err == nil || err.Error() != want {
			t.Errorf("%T: %v, want %s", obj, err, want)
		}
	}
	if got := firstThree([]string{"a", "b", "c"}); got != "a,b,c" {
		t.Errorf("three values are %q", got)
	}
}
