// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// nothingToCheck reports whether a caller that holds the ordinary verb may write every field: the
// kind has no excluded permission (one that the ordinary verb does not include) in the version
// that is written, nor in another version that a conversion webhook makes from it.
//
// If no version in the definition of a custom resource mentions an excluded permission, the
// function compiles no permission tree. It need not consider the metadata fields that the server
// adds to each definition: none of them has an excluded permission.
func nothingToCheck(target granular.Target) bool {
	if target.Schema != nil && target.Schema.Excludes != nil && len(target.Schema.Excludes) == 0 {
		return true
	}
	if len(conversionsOf(target)) > 0 {
		return false
	}
	if s := scaleOf(target); s != nil {
		return !s.excludes()
	}
	return !kindOf(target).excludes()
}

// excludes reports whether the kind has an excluded permission. If the kind has no permission
// tree, k.excluded decides, and it is not known which fields need that permission.
func (k *kind) excludes() bool {
	if k.walker == nil {
		return k.excluded
	}
	return k.walker.Tree().HasExcluded()
}

// mentionsExcluded reports whether any of the models mentions an excluded permission.
func mentionsExcluded(models map[string]*spec.Schema) bool {
	for _, model := range models {
		if model != nil && schemaExcludes(model) {
			return true
		}
	}
	return false
}

func schemaExcludes(s *spec.Schema) bool {
	if v, ok := s.Extensions[schema.ExtExcluded]; ok && v != false {
		return true
	}
	for name := range s.Properties {
		property := s.Properties[name]
		if schemaExcludes(&property) {
			return true
		}
	}
	for i := range s.AllOf {
		if schemaExcludes(&s.AllOf[i]) {
			return true
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil && schemaExcludes(s.AdditionalProperties.Schema) {
		return true
	}
	return s.Items != nil && s.Items.Schema != nil && schemaExcludes(s.Items.Schema)
}
