// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// nothingToCheck reports whether a caller who holds the ordinary verb may write everything: no
// permission is excluded in the version that is written, nor in another version that a
// conversion webhook makes from it.
//
// If no version of a custom resource definition mentions an excluded permission, no tree is
// compiled to find that out. The metadata that the server adds to each definition excludes
// nothing either.
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

// excludes reports whether some permission of the kind is excluded. Without a tree it is not
// known which fields that concerns.
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
