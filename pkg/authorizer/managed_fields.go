// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"bytes"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// sameManagedFields says whether a caller sends back the managed fields it was given.
// Many clients write JSON with other spaces and in another order than the server does,
// so the fields are compared as the server reads them.
func sameManagedFields(a, b []metav1.ManagedFieldsEntry) bool {
	return slices.EqualFunc(a, b, func(a, b metav1.ManagedFieldsEntry) bool {
		if !sameFields(a.FieldsV1, b.FieldsV1) {
			return false
		}
		a.FieldsV1, b.FieldsV1 = nil, nil
		return equality.Semantic.DeepEqual(a, b)
	})
}

func sameFields(a, b *metav1.FieldsV1) bool {
	if a == nil || b == nil {
		return a == b
	}
	if bytes.Equal(a.GetRawBytes(), b.GetRawBytes()) {
		return true
	}
	var x, y fieldpath.Set
	if x.FromJSON(a.GetRawReader()) != nil || y.FromJSON(b.GetRawReader()) != nil {
		return false
	}
	return x.Equals(&y)
}
