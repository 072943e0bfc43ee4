// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// setNamespaceUID returns a hook that writes the UID of the request's namespace into the status
// of an object that is about to be created. It reads the namespace from storage: a cache might
// still have a deleted namespace of the same name, and the attribute would have no effect.
//
// It is a hook of the store and not part of the strategy, because a strategy can't return an
// error.
func setNamespaceUID(namespaces corev1client.NamespacesGetter) genericregistry.BeginCreateFunc {
	return func(ctx context.Context, obj runtime.Object, _ *metav1.CreateOptions) (genericregistry.FinishFunc, error) {
		_, _, status := obj.(authority.Attribute).Parts()
		*status = v1alpha1.ProtectedAttributeStatus{}
		if name := genericapirequest.NamespaceValue(ctx); name != "" {
			namespace, err := namespaces.Namespaces().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			status.NamespaceUID = namespace.UID
		}
		return func(context.Context, bool) {}, nil
	}
}

// InNamespace reports whether an attribute belongs to the namespace with the UID, and not to a
// deleted namespace of the same name. If the group was not served while a namespace was deleted,
// its attributes are still stored, and appear again with a new namespace of that name. If either
// UID is unknown, it returns true, which protects more.
func InNamespace(status *v1alpha1.ProtectedAttributeStatus, namespace types.UID) bool {
	return status.NamespaceUID == namespace || status.NamespaceUID == "" || namespace == ""
}
