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

// setNamespaceUID returns a hook for the creation of a protected attribute. The hook clears the
// status and writes the UID of the request's namespace into it. It reads the namespace from
// storage: a cache might still have a deleted namespace of the same name, and with its UID the
// attribute would have no effect.
//
// A hook of the store does this and not the strategy, because a strategy can't return an error.
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

// InNamespace reports whether an attribute belongs to the namespace with this UID, and not to a
// deleted namespace of the same name. If a namespace is deleted while no server serves the
// group, its attributes stay in storage, and a new namespace of that name would get them. If
// either UID is unknown, InNamespace returns true, so that the attribute protects.
func InNamespace(status *v1alpha1.ProtectedAttributeStatus, namespace types.UID) bool {
	return status.NamespaceUID == namespace || status.NamespaceUID == "" || namespace == ""
}
