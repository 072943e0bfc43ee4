// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
)

// Internal is the internal version of the group.
var Internal = schema.GroupVersion{Group: v1alpha1.GroupName, Version: runtime.APIVersionInternal}

// The field selectors of protected attributes, besides those of all kinds.
const (
	SelectKind = "spec.attributeKind"
	SelectName = "spec.attributeName"
)

// The field selectors of AuthorityDelegation, besides those of all kinds. Users have the names
// that authentication uses, so a service account is system:serviceaccount:NAMESPACE:NAME.
const (
	// SelectDelegator selects by the user who delegated.
	SelectDelegator = "status.delegator.username"
	// SelectDelegate selects by a user among the delegates, SelectDelegateGroup by a group.
	SelectDelegate      = "spec.delegates.user"
	SelectDelegateGroup = "spec.delegates.group"
	// SelectPolicy selects by the policy that issued the delegation.
	SelectPolicy = "status.cause.policy"
)

// AddToScheme registers all versions of the types, their conversions and their field selectors.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(Internal,
		&ProtectedAttribute{}, &ProtectedAttributeList{},
		&ClusterProtectedAttribute{}, &ClusterProtectedAttributeList{},
		&AuthorityDelegation{}, &AuthorityDelegationList{},
		&AuthorityDelegationPolicy{}, &AuthorityDelegationPolicyList{},
	)
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, addConversions} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	for _, kind := range []string{"ProtectedAttribute", "ClusterProtectedAttribute"} {
		if err := scheme.AddFieldLabelConversionFunc(v1alpha1.SchemeGroupVersion.WithKind(kind), selectable); err != nil {
			return err
		}
	}
	if err := scheme.AddFieldLabelConversionFunc(v1alpha1.SchemeGroupVersion.WithKind("AuthorityDelegation"), selectableDelegation); err != nil {
		return err
	}
	return scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion)
}

func selectable(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", "metadata.namespace", SelectKind, SelectName:
		return label, value, nil
	}
	return "", "", fmt.Errorf("%q is not a supported field selector; supported are metadata.name, metadata.namespace, %s and %s", label, SelectKind, SelectName)
}

// selectableDelegation maps a selector for one element of a list to the field for that element: a
// field selector supports only fields with one value.
func selectableDelegation(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", SelectDelegator, SelectPolicy:
		return label, value, nil
	case SelectDelegate, SelectDelegateGroup:
		return ListElementField(label, value), "true", nil
	}
	return "", "", fmt.Errorf("%q is not a supported field selector; supported are metadata.name, %s, %s, %s and %s", label, SelectDelegator, SelectDelegate, SelectDelegateGroup, SelectPolicy)
}

// ListElementField returns the name of the field that is "true" if a list contains value.
func ListElementField(label, value string) string { return label + "/" + value }
