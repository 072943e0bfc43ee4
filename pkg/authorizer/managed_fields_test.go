// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSameManagedFields(t *testing.T) {
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		e := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1"}
		if fields != "" {
			e.FieldsV1 = metav1.NewFieldsV1(fields)
		}
		return e
	}
	const fields = `{"f:data":{".":{},"f:a":{}},"f:list":{"k:{\"a\":1}":{"f:b":{}}}}`
	server := []metav1.ManagedFieldsEntry{entry("a", fields)}
	for _, test := range []struct {
		name string
		sent []metav1.ManagedFieldsEntry
		want bool
	}{
		{"the same", []metav1.ManagedFieldsEntry{entry("a", fields)}, true},
		{"with spaces, in another order", []metav1.ManagedFieldsEntry{entry("a", `{ "f:list": {"k:{\"a\":1}": {"f:b": {}}}, "f:data": {"f:a": {}, ".": {}} }`)}, true},
		{"another field", []metav1.ManagedFieldsEntry{entry("a", `{"f:data":{".":{},"f:b":{}},"f:list":{"k:{\"a\":1}":{"f:b":{}}}}`)}, false},
		{"one field less", []metav1.ManagedFieldsEntry{entry("a", `{"f:data":{".":{}},"f:list":{"k:{\"a\":1}":{"f:b":{}}}}`)}, false},
		{"a field twice: the server reads the last", []metav1.ManagedFieldsEntry{entry("a", `{"f:data":{"f:b":{}},"f:data":{".":{},"f:a":{}},"f:list":{"k:{\"a\":1}":{"f:b":{}}}}`)}, true},
		{"another manager", []metav1.ManagedFieldsEntry{entry("b", fields)}, false},
		{"one more", []metav1.ManagedFieldsEntry{entry("a", fields), entry("b", `{}`)}, false},
		{"no fields", []metav1.ManagedFieldsEntry{entry("a", "")}, false},
		{"no JSON", []metav1.ManagedFieldsEntry{entry("a", "{")}, false},
	} {
		if got := sameManagedFields(test.sent, server); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
