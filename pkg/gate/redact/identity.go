// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Identity returns a new object of the type and kind of result that has only the name, namespace,
// uid and resource version of result. If result has no metadata, Identity returns a Status.
func Identity(result runtime.Object) runtime.Object {
	old, err := meta.Accessor(result)
	if err != nil {
		return &metav1.Status{Status: metav1.StatusSuccess}
	}
	var identity runtime.Object
	if u, ok := result.(runtime.Unstructured); ok {
		identity = u.NewEmptyInstance()
	} else {
		identity = reflect.New(reflect.TypeOf(result).Elem()).Interface().(runtime.Object)
	}
	identity.GetObjectKind().SetGroupVersionKind(result.GetObjectKind().GroupVersionKind())
	accessor, err := meta.Accessor(identity)
	if err != nil {
		return &metav1.Status{Status: metav1.StatusSuccess}
	}
	accessor.SetName(old.GetName())
	accessor.SetNamespace(old.GetNamespace())
	accessor.SetUID(old.GetUID())
	accessor.SetResourceVersion(old.GetResourceVersion())
	return identity
}
