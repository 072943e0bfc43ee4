// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"errors"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
)

// addConversions registers the conversions between v1alpha1 and the internal version in both
// directions. They drop TypeMeta, as upstream's conversions do: objects in memory have no TypeMeta,
// and the scheme sets it when an object is encoded.
func addConversions(scheme *runtime.Scheme) error {
	return errors.Join(
		addKind(scheme,
			func(v *v1alpha1.ProtectedAttribute) *ProtectedAttribute { return (*ProtectedAttribute)(v) },
			func(v *v1alpha1.ProtectedAttributeList) *list[v1alpha1.ProtectedAttribute] {
				return (*list[v1alpha1.ProtectedAttribute])(v)
			},
			func(i *ProtectedAttributeList) *list[ProtectedAttribute] { return (*list[ProtectedAttribute])(i) }),
		addKind(scheme,
			func(v *v1alpha1.ClusterProtectedAttribute) *ClusterProtectedAttribute {
				return (*ClusterProtectedAttribute)(v)
			},
			func(v *v1alpha1.ClusterProtectedAttributeList) *list[v1alpha1.ClusterProtectedAttribute] {
				return (*list[v1alpha1.ClusterProtectedAttribute])(v)
			},
			func(i *ClusterProtectedAttributeList) *list[ClusterProtectedAttribute] {
				return (*list[ClusterProtectedAttribute])(i)
			}),
		addKind(scheme,
			func(v *v1alpha1.AuthorityDelegation) *AuthorityDelegation { return (*AuthorityDelegation)(v) },
			func(v *v1alpha1.AuthorityDelegationList) *list[v1alpha1.AuthorityDelegation] {
				return (*list[v1alpha1.AuthorityDelegation])(v)
			},
			func(i *AuthorityDelegationList) *list[AuthorityDelegation] { return (*list[AuthorityDelegation])(i) }),
		addKind(scheme,
			func(v *v1alpha1.AuthorityDelegationPolicy) *AuthorityDelegationPolicy {
				return (*AuthorityDelegationPolicy)(v)
			},
			func(v *v1alpha1.AuthorityDelegationPolicyList) *list[v1alpha1.AuthorityDelegationPolicy] {
				return (*list[v1alpha1.AuthorityDelegationPolicy])(v)
			},
			func(i *AuthorityDelegationPolicyList) *list[AuthorityDelegationPolicy] {
				return (*list[AuthorityDelegationPolicy])(i)
			}),
		addKind(scheme,
			func(v *v1alpha1.FieldPermission) *FieldPermission { return (*FieldPermission)(v) },
			func(v *v1alpha1.FieldPermissionList) *list[v1alpha1.FieldPermission] {
				return (*list[v1alpha1.FieldPermission])(v)
			},
			func(i *FieldPermissionList) *list[FieldPermission] { return (*list[FieldPermission])(i) }),
	)
}

// addKind registers the conversions of a kind and of its list. Its functions return the object that they
// get, with another type, and not a copy.
func addKind[V, I, VL, IL any](
	scheme *runtime.Scheme, internal func(*V) *I, versionedList func(*VL) *list[V], internalList func(*IL) *list[I],
) error {
	decode := func(source *V, target *I) { *target = *internal(source) }
	encode := func(source *I, target *V) { *internal(target) = *source }
	return errors.Join(
		addConversion(scheme, typeless(decode)),
		addConversion(scheme, typeless(encode)),
		addConversion(scheme, func(source *VL, target *IL) {
			convertList(versionedList(source), internalList(target), typeless(decode))
		}),
		addConversion(scheme, func(source *IL, target *VL) {
			convertList(internalList(source), versionedList(target), typeless(encode))
		}),
	)
}

// typeless returns a conversion that also drops TypeMeta.
func typeless[S, T any](convert func(*S, *T)) func(*S, *T) {
	return func(source *S, target *T) {
		convert(source, target)
		any(target).(schema.ObjectKind).SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

// convertList never makes Items nil, so that clients read "items": [] and not null.
func convertList[S, T any](source *list[S], target *list[T], convert func(*S, *T)) {
	*target = list[T]{ListMeta: source.ListMeta, Items: make([]T, len(source.Items))}
	for i := range source.Items {
		convert(&source.Items[i], &target.Items[i])
	}
}

func addConversion[S, T any](scheme *runtime.Scheme, convert func(*S, *T)) error {
	return scheme.AddGeneratedConversionFunc((*S)(nil), (*T)(nil), func(source, target any, _ conversion.Scope) error {
		convert(source.(*S), target.(*T))
		return nil
	})
}
