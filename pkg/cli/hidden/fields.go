// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package hidden

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Schemas returns the schemas of all versions of a definition. A version without a schema keeps no
// fields.
func Schemas(crd *apiextensionsv1.CustomResourceDefinition) []*apiextensionsv1.JSONSchemaProps {
	var out []*apiextensionsv1.JSONSchemaProps
	for _, v := range crd.Spec.Versions {
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			out = append(out, v.Schema.OpenAPIV3Schema)
		}
	}
	return out
}

// Fields returns the paths of the fields that the managed fields name and none of the schemas has,
// such as spec.parts[*].secret, sorted. It returns only the topmost of nested fields.
func Fields(schemas []*apiextensionsv1.JSONSchemaProps, managed []metav1.ManagedFieldsEntry) ([]string, error) {
	found := map[string]bool{}
	for _, entry := range managed {
		if entry.FieldsV1 == nil {
			continue
		}
		var set map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set); err != nil {
			return nil, fmt.Errorf("the managed fields of %q: %w", entry.Manager, err)
		}
		delete(set, "f:metadata")
		walk(schemas, set, "", found)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// walk adds the paths of fields in set that none of the schemas has to found.
func walk(schemas []*apiextensionsv1.JSONSchemaProps, set map[string]any, path string, found map[string]bool) {
	for step, below := range set {
		name, field := strings.CutPrefix(step, "f:")
		place := path + "[*]"
		if field {
			place = strings.TrimPrefix(path+"."+name, ".")
		} else if step == "." {
			continue
		}
		next, kept := follow(schemas, name, field)
		nested, _ := below.(map[string]any)
		switch {
		case len(next) > 0:
			walk(next, nested, place, found)
		case !kept:
			found[place] = true
		}
	}
}

// follow returns the schemas of a field or element, and whether one of the schemas keeps it without
// a schema of its own.
func follow(schemas []*apiextensionsv1.JSONSchemaProps, name string, field bool) (next []*apiextensionsv1.JSONSchemaProps, kept bool) {
	for _, s := range schemas {
		kept = kept || s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields ||
			s.AdditionalProperties != nil && s.AdditionalProperties.Allows && s.AdditionalProperties.Schema == nil ||
			s.XEmbeddedResource && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name)
		property, present := s.Properties[name]
		switch {
		case field && present:
			next = append(next, &property)
		case field && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
			next = append(next, s.AdditionalProperties.Schema)
		case !field && s.Items != nil && s.Items.Schema != nil:
			next = append(next, s.Items.Schema)
		}
	}
	return next, kept
}
