// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/apis/authority"
)

// entryFrom converts an attribute to a protect.Entry, which shares slices with the attribute.
func entryFrom(a authority.Attribute) protect.Entry {
	meta, spec, _ := a.Parts()
	return protect.Entry{
		Name:            meta.Name,
		Namespace:       meta.Namespace,
		Kind:            protect.KindOf(string(spec.AttributeKind)),
		Key:             spec.AttributeName,
		ProtectedValues: spec.ProtectedValues,
		AllowedValues:   spec.AllowedValues,
		Role:            roleOf(spec),
		// Package protect enforces every mode except Audit.
		Mode:             protect.Mode(spec.Mode),
		Resources:        resources(spec.Resources),
		ExcludeResources: resources(spec.ExcludeResources),
	}
}

func roleOf(spec *v1alpha1.ProtectedAttributeSpec) protect.RoleRef {
	if spec.RoleRef == nil {
		return protect.RoleRef{}
	}
	return protect.RoleRef{Kind: spec.RoleRef.Kind, Name: spec.RoleRef.Name}
}

func resources(all []v1alpha1.GroupResource) []protect.Resource {
	if len(all) == 0 {
		return nil
	}
	out := make([]protect.Resource, 0, len(all))
	for _, r := range all {
		out = append(out, protect.Resource(r))
	}
	return out
}
