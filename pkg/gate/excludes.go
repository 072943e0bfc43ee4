// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// nothingToCheck reports whether the ordinary verb (create, update or patch) alone allows a caller
// to write every field. That is so if the kind has no excluded permission, which is one that the
// ordinary verb does not include: neither in the version that is written, nor in another version
// to which a conversion webhook converts the object.
//
// For a custom resource whose definition mentions no excluded permission in any version,
// nothingToCheck compiles no permission tree. The server adds metadata fields to each definition,
// but none of these fields has an excluded permission. Entries come first: they can exclude such a
// field too.
func nothingToCheck(target granular.Target, found *knownKind) bool {
	added := found.added
	if target.Schema != nil && target.Schema.Excludes != nil && len(target.Schema.Excludes) == 0 && !added.excludes() {
		return true
	}
	if target.Schema != nil && target.Schema.Stored != nil || len(conversionsOf(target, added)) > 0 {
		return false // see storedForm and conversion
	}
	if s := scaleOf(target, added); s != nil {
		return !s.excludes()
	}
	return !found.find(target).excludes()
}

// excludes reports whether some field of the kind needs an excluded permission. If the permission
// tree of the kind could not be compiled, excludes reports whether the schema mentions such a
// permission, without knowing for which fields.
func (k *kind) excludes() bool {
	if k.walker == nil {
		return k.excluded
	}
	return k.walker.Tree().HasExcluded() || k.named != nil
}

// mentionsExcluded reports whether at least one of the schemas mentions an excluded permission.
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
