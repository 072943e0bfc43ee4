// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/granular"
)

// TestExcludesSeesEveryPlace checks that the server finds an excluded permission in every
// position of a schema, even where it has no effect. Ordinary writes rely on this: if a
// definition excludes nothing, the server does not verify them.
func TestExcludesSeesEveryPlace(t *testing.T) {
	type props = apiextensions.JSONSchemaProps
	excluded := props{Type: "string", XPermissionExcluded: true}
	for name, s := range map[string]props{
		"root":                  excluded,
		"properties":            {Properties: map[string]props{"a": excluded}},
		"items":                 {Items: &apiextensions.JSONSchemaPropsOrArray{Schema: &excluded}},
		"one of several items":  {Items: &apiextensions.JSONSchemaPropsOrArray{JSONSchemas: []props{{}, excluded}}},
		"additional properties": {AdditionalProperties: &apiextensions.JSONSchemaPropsOrBool{Schema: &excluded}},
		"additional items":      {AdditionalItems: &apiextensions.JSONSchemaPropsOrBool{Schema: &excluded}},
		"pattern properties":    {PatternProperties: map[string]props{"a": excluded}},
		"allOf":                 {AllOf: []props{{}, excluded}},
		"anyOf":                 {AnyOf: []props{{}, excluded}},
		"oneOf":                 {OneOf: []props{{}, excluded}},
		"not":                   {Not: &excluded},
		"definitions":           {Definitions: apiextensions.JSONSchemaDefinitions{"a": excluded}},
		"dependencies":          {Dependencies: apiextensions.JSONSchemaDependencies{"a": {Schema: &excluded}}},
	} {
		outer := props{Properties: map[string]props{"spec": {Items: &apiextensions.JSONSchemaPropsOrArray{Schema: &s}}}}
		if !granular.Excludes(&s) || !granular.Excludes(&outer) {
			t.Errorf("%s: not seen", name)
		}
	}
	verb := "a"
	if granular.Excludes(&props{Properties: map[string]props{"a": {XPermissionVerb: &verb}}}) || granular.Excludes(nil) {
		t.Error("seen where there is none")
	}
}
