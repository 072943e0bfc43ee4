// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"maps"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/schemamutation"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// WithoutPermissions returns definitions without the extensions of permissions, by the names that the
// definitions have.
func WithoutPermissions(definitions map[string]common.OpenAPIDefinition) map[string]common.OpenAPIDefinition {
	out := make(map[string]common.OpenAPIDefinition, len(definitions))
	for name, definition := range definitions {
		definition.Schema = *walker.WalkSchema(&definition.Schema)
		out[name] = definition
	}
	return out
}

// walker copies each schema that it changes, and those that contain it.
var walker = schemamutation.Walker{SchemaCallback: withoutPermissions, RefCallback: schemamutation.RefCallbackNoop}

func withoutPermissions(s *spec.Schema) *spec.Schema {
	kept := maps.Clone(s.Extensions)
	maps.DeleteFunc(kept, func(key string, _ any) bool { return schema.IsPermissionExtension(key) })
	if len(kept) == len(s.Extensions) {
		return s
	}
	if len(kept) == 0 {
		kept = nil
	}
	changed := *s
	changed.Extensions = kept
	return &changed
}
