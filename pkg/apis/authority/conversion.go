// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/api/authority/v1alpha1"
)

// addConversions registers the conversions between v1alpha1 and the internal version in both
// directions. They drop TypeMeta, as upstream's conversions do: objects in memory have no TypeMeta,
// and the scheme sets it when an object is encoded.
func addConversions(scheme *runtime.Scheme) error {
	for _, pair := range []struct {
		from, to any
		convert  conversion.ConversionFunc
	}{
		{(*v1alpha1.ProtectedAttribute)(nil), (*ProtectedAttribute)(nil),
			conversionFunc(func(in *v1alpha1.ProtectedAttribute, out *ProtectedAttribute) {
				*out = ProtectedAttribute(*in)
				out.TypeMeta = metav1.TypeMeta{}
			})},
		{(*ProtectedAttribute)(nil), (*v1alpha1.ProtectedAttribute)(nil),
			conversionFunc(func(in *ProtectedAttribute, out *v1alpha1.ProtectedAttribute) {
				*out = v1alpha1.ProtectedAttribute(*in)
				out.TypeMeta = metav1.TypeMeta{}
			})},
		{(*v1alpha1.ClusterProtectedAttribute)(nil), (*ClusterProtectedAttribute)(nil),
			conversionFunc(func(in *v1alpha1.ClusterProtectedAttribute, out *ClusterProtectedAttribute) {
				*out = ClusterProtectedAttribute(*in)
				out.TypeMeta = metav1.TypeMeta{}
			})},
		{(*ClusterProtectedAttribute)(nil), (*v1alpha1.ClusterProtectedAttribute)(nil),
			conversionFunc(func(in *ClusterProtectedAttribute, out *v1alpha1.ClusterProtectedAttribute) {
				*out = v1alpha1.ClusterProtectedAttribute(*in)
				out.TypeMeta = metav1.TypeMeta{}
			})},
		{(*v1alpha1.ProtectedAttributeList)(nil), (*ProtectedAttributeList)(nil),
			conversionFunc(func(in *v1alpha1.ProtectedAttributeList, out *ProtectedAttributeList) {
				*out = ProtectedAttributeList{ListMeta: in.ListMeta, Items: make([]ProtectedAttribute, len(in.Items))}
				for i := range in.Items {
					out.Items[i] = ProtectedAttribute(in.Items[i])
					out.Items[i].TypeMeta = metav1.TypeMeta{}
				}
			})},
		{(*ProtectedAttributeList)(nil), (*v1alpha1.ProtectedAttributeList)(nil),
			conversionFunc(func(in *ProtectedAttributeList, out *v1alpha1.ProtectedAttributeList) {
				// Items is never nil, so that clients read "items": [] and not null.
				*out = v1alpha1.ProtectedAttributeList{ListMeta: in.ListMeta, Items: make([]v1alpha1.ProtectedAttribute, len(in.Items))}
				for i := range in.Items {
					out.Items[i] = v1alpha1.ProtectedAttribute(in.Items[i])
					out.Items[i].TypeMeta = metav1.TypeMeta{}
				}
			})},
		{(*v1alpha1.ClusterProtectedAttributeList)(nil), (*ClusterProtectedAttributeList)(nil),
			conversionFunc(func(in *v1alpha1.ClusterProtectedAttributeList, out *ClusterProtectedAttributeList) {
				*out = ClusterProtectedAttributeList{ListMeta: in.ListMeta, Items: make([]ClusterProtectedAttribute, len(in.Items))}
				for i := range in.Items {
					out.Items[i] = ClusterProtectedAttribute(in.Items[i])
					out.Items[i].TypeMeta = metav1.TypeMeta{}
				}
			})},
		{(*ClusterProtectedAttributeList)(nil), (*v1alpha1.ClusterProtectedAttributeList)(nil),
			conversionFunc(func(in *ClusterProtectedAttributeList, out *v1alpha1.ClusterProtectedAttributeList) {
				*out = v1alpha1.ClusterProtectedAttributeList{ListMeta: in.ListMeta, Items: make([]v1alpha1.ClusterProtectedAttribute, len(in.Items))}
				for i := range in.Items {
					out.Items[i] = v1alpha1.ClusterProtectedAttribute(in.Items[i])
					out.Items[i].TypeMeta = metav1.TypeMeta{}
				}
			})},
		{(*v1alpha1.AuthorityDelegation)(nil), (*AuthorityDelegation)(nil),
			conversionFunc(func(in *v1alpha1.AuthorityDelegation, out *AuthorityDelegation) {
				*out = AuthorityDelegation(*in)
				out.TypeMeta = metav1.TypeMeta{}
			})},
		{(*AuthorityDelegation)(nil), (*v1alpha1.AuthorityDelegation)(nil),
			conversionFunc(func(in *AuthorityDelegation, out *v1alpha1.AuthorityDelegation) {
				*out = v1alpha1.AuthorityDelegation(*in)
				out.TypeMeta = metav1.TypeMeta{}
			})},
		{(*v1alpha1.AuthorityDelegationList)(nil), (*AuthorityDelegationList)(nil),
			conversionFunc(func(in *v1alpha1.AuthorityDelegationList, out *AuthorityDelegationList) {
				*out = AuthorityDelegationList{ListMeta: in.ListMeta, Items: make([]AuthorityDelegation, len(in.Items))}
				for i := range in.Items {
					out.Items[i] = AuthorityDelegation(in.Items[i])
					out.Items[i].TypeMeta = metav1.TypeMeta{}
				}
			})},
		{(*AuthorityDelegationList)(nil), (*v1alpha1.AuthorityDelegationList)(nil),
			conversionFunc(func(in *AuthorityDelegationList, out *v1alpha1.AuthorityDelegationList) {
				*out = v1alpha1.AuthorityDelegationList{ListMeta: in.ListMeta, Items: make([]v1alpha1.AuthorityDelegation, len(in.Items))}
				for i := range in.Items {
					out.Items[i] = v1alpha1.AuthorityDelegation(in.Items[i])
					out.Items[i].TypeMeta = metav1.TypeMeta{}
				}
			})},
		{(*v1alpha1.AuthorityDelegationPolicy)(nil), (*AuthorityDelegationPolicy)(nil),
			conversionFunc(func(in *v1alpha1.AuthorityDelegationPolicy, out *AuthorityDelegationPolicy) {
				*out = AuthorityDelegationPolicy(*in)
				out.TypeMeta = metav1.TypeMeta{}
			})},
		{(*AuthorityDelegationPolicy)(nil), (*v1alpha1.AuthorityDelegationPolicy)(nil),
			conversionFunc(func(in *AuthorityDelegationPolicy, out *v1alpha1.AuthorityDelegationPolicy) {
				*out = v1alpha1.AuthorityDelegationPolicy(*in)
				out.TypeMeta = metav1.TypeMeta{}
			})},
		{(*v1alpha1.AuthorityDelegationPolicyList)(nil), (*AuthorityDelegationPolicyList)(nil),
			conversionFunc(func(in *v1alpha1.AuthorityDelegationPolicyList, out *AuthorityDelegationPolicyList) {
				*out = AuthorityDelegationPolicyList{ListMeta: in.ListMeta, Items: make([]AuthorityDelegationPolicy, len(in.Items))}
				for i := range in.Items {
					out.Items[i] = AuthorityDelegationPolicy(in.Items[i])
					out.Items[i].TypeMeta = metav1.TypeMeta{}
				}
			})},
		{(*AuthorityDelegationPolicyList)(nil), (*v1alpha1.AuthorityDelegationPolicyList)(nil),
			conversionFunc(func(in *AuthorityDelegationPolicyList, out *v1alpha1.AuthorityDelegationPolicyList) {
				*out = v1alpha1.AuthorityDelegationPolicyList{ListMeta: in.ListMeta, Items: make([]v1alpha1.AuthorityDelegationPolicy, len(in.Items))}
				for i := range in.Items {
					out.Items[i] = v1alpha1.AuthorityDelegationPolicy(in.Items[i])
					out.Items[i].TypeMeta = metav1.TypeMeta{}
				}
			})},
		{(*v1alpha1.FieldPermission)(nil), (*FieldPermission)(nil),
			conversionFunc(func(in *v1alpha1.FieldPermission, out *FieldPermission) {
				*out = FieldPermission(*in)
				out.TypeMeta = metav1.TypeMeta{}
			})},
		{(*FieldPermission)(nil), (*v1alpha1.FieldPermission)(nil),
			conversionFunc(func(in *FieldPermission, out *v1alpha1.FieldPermission) {
				*out = v1alpha1.FieldPermission(*in)
				out.TypeMeta = metav1.TypeMeta{}
			})},
		{(*v1alpha1.FieldPermissionList)(nil), (*FieldPermissionList)(nil),
			conversionFunc(func(in *v1alpha1.FieldPermissionList, out *FieldPermissionList) {
				*out = FieldPermissionList{ListMeta: in.ListMeta, Items: make([]FieldPermission, len(in.Items))}
				for i := range in.Items {
					out.Items[i] = FieldPermission(in.Items[i])
					out.Items[i].TypeMeta = metav1.TypeMeta{}
				}
			})},
		{(*FieldPermissionList)(nil), (*v1alpha1.FieldPermissionList)(nil),
			conversionFunc(func(in *FieldPermissionList, out *v1alpha1.FieldPermissionList) {
				*out = v1alpha1.FieldPermissionList{ListMeta: in.ListMeta, Items: make([]v1alpha1.FieldPermission, len(in.Items))}
				for i := range in.Items {
					out.Items[i] = v1alpha1.FieldPermission(in.Items[i])
					out.Items[i].TypeMeta = metav1.TypeMeta{}
				}
			})},
	} {
		if err := scheme.AddGeneratedConversionFunc(pair.from, pair.to, pair.convert); err != nil {
			return err
		}
	}
	return nil
}

// conversionFunc wraps a conversion function with concrete types in one that a scheme accepts.
func conversionFunc[In, Out any](convert func(*In, *Out)) conversion.ConversionFunc {
	return func(in, out any, _ conversion.Scope) error {
		convert(in.(*In), out.(*Out))
		return nil
	}
}
