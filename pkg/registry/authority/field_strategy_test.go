// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/api/authority/v1alpha1"
)

// TestFieldTable checks the content of the columns that kubectl get prints of a FieldPermission.
func TestFieldTable(t *testing.T) {
	p := fieldsOf("widgets.example.com")
	p.Spec.Fields = append(p.Spec.Fields, v1alpha1.FieldEntry{Path: ".spec.weight"}, v1alpha1.FieldEntry{Path: ".spec.name"})
	p.Status = v1alpha1.FieldPermissionStatus{NotHeldCount: 3, AuditViolations: 9, Conditions: []metav1.Condition{
		{Type: "First", Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse},
		{Type: "Last", Status: metav1.ConditionTrue},
	}}
	got, err := fieldTable.ConvertToTable(t.Context(), p, nil)
	if err != nil || len(got.Rows) != 1 || len(got.Rows[0].Cells) != len(got.ColumnDefinitions) {
		t.Fatal(got, err)
	}
	got.DeepCopy() // as the audit log does
	const want = "widgets.example.com v1 Audit 4 1 False <unknown> .spec.size,.spec.color,.spec.weight + 1 more 3 9\n"
	if text := fmt.Sprintln(got.Rows[0].Cells...); text != want {
		t.Errorf("got  %swant %s", text, want)
	}
	if _, err := fieldTable.ConvertToTable(t.Context(), attribute("a"), nil); err == nil {
		t.Error("the table of FieldPermissions takes a protected attribute")
	}
}
