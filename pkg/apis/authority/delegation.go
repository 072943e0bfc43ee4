// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/api/authority/v1alpha1"
)

// AuthorityDelegation is the internal version of v1alpha1.AuthorityDelegation.
type AuthorityDelegation v1alpha1.AuthorityDelegation

// DeepCopyObject implements runtime.Object.
func (in *AuthorityDelegation) DeepCopyObject() runtime.Object {
	return (*AuthorityDelegation)((*v1alpha1.AuthorityDelegation)(in).DeepCopy())
}

// AuthorityDelegationList is a list of AuthorityDelegations.
type AuthorityDelegationList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []AuthorityDelegation
}

// DeepCopyObject implements runtime.Object.
func (in *AuthorityDelegationList) DeepCopyObject() runtime.Object {
	out := &AuthorityDelegationList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy()}
	if in.Items != nil {
		out.Items = make([]AuthorityDelegation, len(in.Items))
	}
	for i := range in.Items {
		(*v1alpha1.AuthorityDelegation)(&in.Items[i]).DeepCopyInto((*v1alpha1.AuthorityDelegation)(&out.Items[i]))
	}
	return out
}
