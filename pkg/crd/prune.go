// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/granular"
)

// prune gives of a schema what has to do with permissions: where extensions are, the
// way to them, and the keys that tell elements apart. A definition may be large, and
// what is judged is looked at several times. The result shares what it does not cut.
func prune(s *apiextensions.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	if out := pruned(*s, nil); out != nil {
		return out
	}
	return &apiextensions.JSONSchemaProps{Type: s.Type}
}

// pruned returns nil if there is nothing in s. The properties named keys are kept.
// It takes a copy, because what lies in a map has no address and is seldom kept.
//
//go:noinline
func pruned(s apiextensions.JSONSchemaProps, keys []string) *apiextensions.JSONSchemaProps {
	var properties map[string]apiextensions.JSONSchemaProps
	keep := s.HasPermissionExtension() || s.XEmbeddedResource // its metadata has permissions in a scope
	for name, p := range s.Properties {
		below := pruned(p, nil)
		switch {
		case below != nil:
			keep = true
		case slices.Contains(keys, name):
			below = &apiextensions.JSONSchemaProps{Type: p.Type, Default: p.Default, XIntOrString: p.XIntOrString}
		default:
			continue
		}
		if properties == nil {
			properties = map[string]apiextensions.JSONSchemaProps{}
		}
		properties[name] = *below
	}
	var values, elements *apiextensions.JSONSchemaProps
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		values = pruned(*s.AdditionalProperties.Schema, nil)
	}
	if s.Items != nil && s.Items.Schema != nil {
		elements = pruned(*s.Items.Schema, s.XListMapKeys)
	}
	junctors := permissionsInJunctors(s)
	if keep = keep || values != nil || elements != nil || junctors; !keep && len(properties) == 0 {
		return nil
	}
	out := s
	out.Properties, out.Required, out.Enum, out.XValidations = properties, nil, nil, nil
	if !junctors {
		out.AllOf, out.AnyOf, out.OneOf, out.Not = nil, nil, nil, nil
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{Allows: s.AdditionalProperties.Allows, Schema: orStub(values, s.AdditionalProperties.Schema)}
	}
	if s.Items != nil && s.Items.Schema != nil {
		out.Items = &apiextensions.JSONSchemaPropsOrArray{Schema: orStub(elements, s.Items.Schema)}
	}
	return &out
}

// orStub keeps of what has no permission that it is there, and its type.
func orStub(kept, s *apiextensions.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	if kept != nil {
		return kept
	}
	return &apiextensions.JSONSchemaProps{Type: s.Type, XIntOrString: s.XIntOrString}
}

// junctorsUse finds extensions where none may be. They are kept to be refused.
func permissionsInJunctors(s apiextensions.JSONSchemaProps) bool {
	for _, list := range [][]apiextensions.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			if granular.Uses(&list[i]) {
				return true
			}
		}
	}
	return s.Not != nil && granular.Uses(s.Not)
}
