// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// None is the value that an author gives the extension x-kubernetes-permission-verb at the root of
// a schema, so that the fields get no permissions by convention (see Complete).
const None = "none"

// Complete adds permissions by convention to the model of a version, the OpenAPI schema with which
// the version is served. It does so only if no version of the definition has a permission
// extension. The permissions are those that the same fields have in built-in kinds, and all of them
// are included in update:
//
//	.spec                          specification
//	.status                        status
//	.status.conditions             conditions, and condition(TYPE) if it is a map by type
//	the field that a scale writes  replicas
//
// Complete changes the model, so no other goroutine may use the model during the call.
func (v *Validator) Complete(crd *v1.CustomResourceDefinition, version string, model *spec.Schema) {
	withoutNone(model)
	replicas := ""
	for i := range crd.Spec.Versions {
		served := &crd.Spec.Versions[i]
		if served.Schema != nil && served.Schema.OpenAPIV3Schema != nil && hasPermissions(*served.Schema.OpenAPIV3Schema) {
			return
		}
		if served.Name == version && served.Subresources != nil && served.Subresources.Scale != nil {
			replicas = served.Subresources.Scale.SpecReplicasPath
		}
	}
	editField(model, "spec", func(s *spec.Schema) { mark(s, "specification") })
	editField(model, "status", func(s *spec.Schema) {
		mark(s, "status")
		editField(s, "conditions", conditions)
	})
	editField(model, strings.TrimPrefix(replicas, "."), func(s *spec.Schema) {
		if s.Type.Contains("integer") {
			mark(s, "replicas")
		}
	})
}

// withoutNone removes the verb "none" from a root, because it is not a permission.
func withoutNone(root *spec.Schema) {
	if root.Extensions[schema.ExtVerb] == None {
		delete(root.Extensions, schema.ExtVerb)
	}
}

// hasPermissions reports whether a schema, or a schema nested in it, has a permission extension. It
// does not search below allOf, anyOf, oneOf and not, where extensions are not accepted. It takes s
// by value, because s is often a value in a map, which has no address.
func hasPermissions(s v1.JSONSchemaProps) bool {
	if s.XPermissionVerb != nil || s.XPermissionExcluded || s.XPermissionScope != nil || s.XPermissionParameterSource != nil ||
		s.XPermissionParameterizedBy != nil || s.XPermissionParameterTreatment != nil || s.XPermissionParameterExpression != nil {
		return true
	}
	for _, property := range s.Properties {
		if hasPermissions(property) {
			return true
		}
	}
	return s.Items != nil && s.Items.Schema != nil && hasPermissions(*s.Items.Schema) ||
		s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil && hasPermissions(*s.AdditionalProperties.Schema)
}

// editField changes the schema of one field of s: it calls f with the schema, and stores what f has
// changed. path is the path of the field, with dots between the names. If s has no such field,
// editField does nothing.
func editField(s *spec.Schema, path string, f func(*spec.Schema)) {
	name, below, deeper := strings.Cut(path, ".")
	property, ok := s.Properties[name]
	if !ok {
		return
	}
	if deeper {
		editField(&property, below, f)
	} else {
		f(&property)
	}
	s.Properties[name] = property
}

func mark(s *spec.Schema, verb string) { s.AddExtension(schema.ExtVerb, verb) }

// conditions adds the permission "conditions" to the schema of a list of conditions. If the list is
// a map with the key "type", it also adds the permission "condition" to each element, with the type
// of the condition as the parameter.
func conditions(s *spec.Schema) {
	mark(s, "conditions")
	kind, _ := s.Extensions.GetString("x-kubernetes-list-type")
	keys, _ := s.Extensions["x-kubernetes-list-map-keys"].([]string)
	if kind != "map" || !slices.Equal(keys, []string{"type"}) || s.Items == nil || s.Items.Schema == nil {
		return
	}
	const source = "condition-type"
	editField(s.Items.Schema, "type", func(key *spec.Schema) {
		if key.Type.Contains("string") {
			key.AddExtension(schema.ExtSource, source)
			mark(s.Items.Schema, "condition")
			s.Items.Schema.AddExtension(schema.ExtParameterized, source)
		}
	})
}

// isNone reports whether the root of a schema has the verb "none" and no other extension.
func isNone(s *apiextensions.JSONSchemaProps) bool {
	rest := *s
	rest.XPermissionVerb = nil
	return s.XPermissionVerb != nil && *s.XPermissionVerb == None && !rest.HasPermissionExtension()
}

// misplacedNone returns an error for each verb "none" below the root.
func misplacedNone(root *apiextensions.JSONSchemaProps, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	visit(root, path, func(s *apiextensions.JSONSchemaProps, path *field.Path) bool {
		if s != root && s.XPermissionVerb != nil && *s.XPermissionVerb == None {
			errs = append(errs, field.Invalid(path.Child(schema.ExtVerb), None,
				"it is not a permission: at the root of the schema it turns off the permissions that fields have by convention"))
		}
		return true
	})
	return errs
}
