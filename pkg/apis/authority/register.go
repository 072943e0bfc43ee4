// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
)

// Internal is the version of the types in memory.
var Internal = schema.GroupVersion{Group: v1alpha1.GroupName, Version: runtime.APIVersionInternal}

// Field selectors of protected attributes, besides those that all kinds have.
const (
	SelectKind = "spec.attributeKind"
	SelectName = "spec.attributeName"
)

// Field selectors of AuthorityDelegation, besides those that all kinds have. A user is named
// as authentication does, so that a service account is system:serviceaccount:NAMESPACE:NAME.
const (
	// SelectDelegator selects by who delegated.
	SelectDelegator = "status.delegator.username"
	// SelectDelegate selects by a user among the delegates, SelectDelegateGroup by a group.
	SelectDelegate      = "spec.delegates.user"
	SelectDelegateGroup = "spec.delegates.group"
	// SelectPolicy selects by the policy that caused it.
	SelectPolicy = "status.cause.policy"
)

// AddToScheme registers all versions of the types, how they are converted, and what they
// may be selected by.
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
	return "", "", fmt.Errorf("%q is no field to select by: only metadata.name, metadata.namespace, %s, %s are", label, SelectKind, SelectName)
}

// selectableDelegation makes of a list, of which any element may be asked for, one field for
// each element: a selector knows only fields with one value.
func selectableDelegation(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", SelectDelegator, SelectPolicy:
		return label, value, nil
	case SelectDelegate, SelectDelegateGroup:
		return ListElementField(label, value), "true", nil
	}
	return "", "", fmt.Errorf("%q is no field to select by: only metadata.name, %s, %s, %s, %s are", label, SelectDelegator, SelectDelegate, SelectDelegateGroup, SelectPolicy)
}

// ListElementField is the field that is "true" where a value is among those of a list.
func ListElementField(label, value string) string { return label + "/" + value }
