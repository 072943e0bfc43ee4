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
// status, and then writes the UID of the request's namespace into the status. It reads the
// namespace from storage: a cache might still contain a deleted namespace of the same name, and
// with the UID of that namespace the attribute would have no effect.
//
// This is done in a hook of the store and not in the strategy, because a strategy can't return an
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

// InNamespace reports whether the attribute with this status belongs to the namespace with this
// UID, and not to a deleted namespace of the same name. The question arises because attributes stay
// in storage if their namespace is deleted while no server serves the group. A new namespace of
// that name would then get them. If the UID in the status or the UID of the namespace is unknown,
// InNamespace returns true, so that the attribute protects.
func InNamespace(status *v1alpha1.ProtectedAttributeStatus, namespace types.UID) bool {
	return status.NamespaceUID == namespace || status.NamespaceUID == "" || namespace == ""
}
