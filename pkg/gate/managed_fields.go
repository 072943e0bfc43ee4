// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kube-granular.dev/granular/equal"
	"kube-granular.dev/pkg/gate/convert"
)

// tampered reports whether the caller edits or resets metadata.managedFields: it sends managed
// fields, possibly an empty list, and they differ from the stored ones. newObj is the object that
// the caller sends. Upstream's field management starts from the managed fields that the caller
// sends. Only if the caller sends none, field management starts from the stored ones.
func tampered(newObj, oldObj runtime.Object) bool {
	sent, plain := plainManagedFields(newObj)
	if plain && sent == nil {
		return false
	}
	if !convert.Stored(oldObj) {
		return hasManagedFields(newObj)
	}
	if plain {
		// The JSON values are compared first. Usually they are equal, and then the managed fields
		// need not be decoded, which would take longer than all other work for a granular request.
		if current, ok := plainManagedFields(oldObj); ok && equal.JSON(sent, current) {
			return false
		}
	}
	accessor, err := meta.Accessor(newObj)
	if err != nil {
		return true
	}
	list := accessor.GetManagedFields()
	if !plain && list == nil {
		return false
	}
	accessor, err = meta.Accessor(oldObj)
	return err != nil || !sameManagedFields(list, accessor.GetManagedFields())
}

// hasManagedFields reports whether an object has at least one entry of managed fields. It does
// not decode the entries of custom resources.
func hasManagedFields(obj runtime.Object) bool {
	if obj == nil {
		return false
	}
	if fields, ok := plainManagedFields(obj); ok {
		list, isList := fields.([]any)
		return isList && len(list) > 0
	}
	accessor, err := meta.Accessor(obj)
	return err == nil && len(accessor.GetManagedFields()) > 0
}

// plainManagedFields returns the value of metadata.managedFields of a custom resource as decoded
// JSON, nil if there is none, and true. For an object of a built-in kind it returns false.
func plainManagedFields(obj runtime.Object) (any, bool) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, false
	}
	metadata, _ := u.Object["metadata"].(map[string]any)
	return metadata["managedFields"], true
}

// sameManagedFields reports whether two lists of managed fields are equal. Two entries are equal
// if they contain the same set of fields, whatever their JSON looks like, because many clients
// send the server's JSON back with other white space and in another order.
func sameManagedFields(a, b []metav1.ManagedFieldsEntry) bool {
	return slices.EqualFunc(a, b, func(a, b metav1.ManagedFieldsEntry) bool {
		return a.Manager == b.Manager && a.Operation == b.Operation && a.APIVersion == b.APIVersion && a.Time.Equal(b.Time) &&
			a.FieldsType == b.FieldsType && a.Subresource == b.Subresource && sameFields(a.FieldsV1, b.FieldsV1)
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
