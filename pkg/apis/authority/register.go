// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
)

// Internal is the internal version of the API group.
var Internal = schema.GroupVersion{Group: v1alpha1.GroupName, Version: runtime.APIVersionInternal}

// The fields by which protected attributes can be selected, besides name and namespace.
const (
	SelectKind = "spec.attributeKind"
	SelectName = "spec.attributeName"
)

// The fields by which AuthorityDelegations can be selected, besides the name. The value for a user
// is the name that authentication gives the user. So the value for a service account is
// system:serviceaccount:NAMESPACE:NAME.
const (
	// SelectDelegator selects by the user who created the delegation.
	SelectDelegator = "status.delegator.username"
	// SelectDelegate selects the delegations that have a user with a given name among their
	// delegates, and SelectDelegateGroup those that have a group with a given name among them.
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
		&FieldPermission{}, &FieldPermissionList{},
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
	if err := scheme.AddFieldLabelConversionFunc(v1alpha1.SchemeGroupVersion.WithKind("AuthorityDelegation"),
		selectableDelegation); err != nil {
		return err
	}
	return scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion)
}

func selectable(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", "metadata.namespace", SelectKind, SelectName:
		return label, value, nil
	}
	return "", "", fmt.Errorf("%q is not a supported field selector; supported are metadata.name, metadata.namespace, %s and %s",
		label, SelectKind, SelectName)
}

// selectableDelegation converts a field selector of AuthorityDelegations. A selectable field can
// have only one value, but a delegation can have several delegates. So a delegation has one
// selectable field for each delegate, with the value "true" (see ListElementField), and a selector
// for a delegate is converted to a selector for that field.
func selectableDelegation(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", SelectDelegator, SelectPolicy:
		return label, value, nil
	case SelectDelegate, SelectDelegateGroup:
		return ListElementField(label, value), "true", nil
	}
	return "", "", fmt.Errorf("%q is not a supported field selector; supported are metadata.name, %s, %s, %s and %s", label,
		SelectDelegator, SelectDelegate, SelectDelegateGroup, SelectPolicy)
}

// ListElementField returns the name of a selectable field that stands for one element of a list.
// label is the name by which users select elements of the list. An object has the field, with the
// value "true", if its list contains value.
func ListElementField(label, value string) string { return label + "/" + value }
