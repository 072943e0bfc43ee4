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

// Field selectors of both kinds, besides those that all kinds have.
const (
	SelectKind = "spec.attributeKind"
	SelectName = "spec.attributeName"
)

// AddToScheme registers all versions of the types, how they are converted, and what they
// may be selected by.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(Internal,
		&ProtectedAttribute{}, &ProtectedAttributeList{},
		&ClusterProtectedAttribute{}, &ClusterProtectedAttributeList{},
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
	return scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion)
}

func selectable(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", "metadata.namespace", SelectKind, SelectName:
		return label, value, nil
	}
	return "", "", fmt.Errorf("%q is no field to select by: only metadata.name, metadata.namespace, %s, %s are", label, SelectKind, SelectName)
}
