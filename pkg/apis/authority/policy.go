// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/api/authority/v1alpha1"
)

// AuthorityDelegationPolicy is the internal version of v1alpha1.AuthorityDelegationPolicy.
type AuthorityDelegationPolicy v1alpha1.AuthorityDelegationPolicy

// DeepCopyObject implements runtime.Object.
func (in *AuthorityDelegationPolicy) DeepCopyObject() runtime.Object {
	return (*AuthorityDelegationPolicy)((*v1alpha1.AuthorityDelegationPolicy)(in).DeepCopy())
}

// AuthorityDelegationPolicyList is a list of AuthorityDelegationPolicies.
type AuthorityDelegationPolicyList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []AuthorityDelegationPolicy
}

// DeepCopyObject implements runtime.Object.
func (in *AuthorityDelegationPolicyList) DeepCopyObject() runtime.Object {
	out := &AuthorityDelegationPolicyList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy()}
	if in.Items != nil {
		out.Items = make([]AuthorityDelegationPolicy, len(in.Items))
	}
	for i := range in.Items {
		(*v1alpha1.AuthorityDelegationPolicy)(&in.Items[i]).DeepCopyInto((*v1alpha1.AuthorityDelegationPolicy)(&out.Items[i]))
	}
	return out
}
