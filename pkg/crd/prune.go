// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/granular"

	"kube-granular.dev/granular/schema"
)

// prune returns the parts of a schema that matter for permissions: the permission extensions, the
// fields on the way to them, and the keys that identify list elements. This makes validation
// cheaper, because a definition can be large and is visited several times. The result shares memory
// with s.
func prune(s *apiextensions.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	if out := pruned(*s, nil); out != nil {
		return out
	}
	return &apiextensions.JSONSchemaProps{Type: s.Type}
}

// pruned does the work of prune. It returns nil if no part of s matters. Properties whose names are
// in keys are kept too. It takes s by value, because s is often a value in a map, which has no
// address, and because s seldom has to be kept.
//
//go:noinline
func pruned(s apiextensions.JSONSchemaProps, keys []string) *apiextensions.JSONSchemaProps {
	var properties map[string]apiextensions.JSONSchemaProps
	if expression := s.XPermissionParameterizedBy; expression != nil {
		if name, ok := schema.SelfField(*expression); ok {
			keys = append(slices.Clip(keys), name) // the type of this field matters
		}
	}
	keep := s.HasPermissionExtension() || s.XEmbeddedResource // below a scope, its metadata have permissions
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
		out.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{Allows: s.AdditionalProperties.Allows,
			Schema: orStub(values, s.AdditionalProperties.Schema)}
	}
	if s.Items != nil && s.Items.Schema != nil {
		out.Items = &apiextensions.JSONSchemaPropsOrArray{Schema: orStub(elements, s.Items.Schema)}
	}
	return &out
}

// orStub returns kept, or a schema with only the type of s.
func orStub(kept, s *apiextensions.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	if kept != nil {
		return kept
	}
	return &apiextensions.JSONSchemaProps{Type: s.Type, XIntOrString: s.XIntOrString}
}

// permissionsInJunctors reports whether a schema has permission extensions below allOf, anyOf,
// oneOf or not. Extensions are not allowed there. prune keeps them, so that validation can refuse
// them.
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
