// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"reflect"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/granular"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/utils/ptr"
)

// judge is a fake of package crd, which installs the extensions in the server.
type judge struct{ enabled bool }

func (j judge) Enabled() bool { return j.enabled }
func (judge) Validate(_, _ *apiextensions.CustomResourceDefinition) field.ErrorList {
	return field.ErrorList{field.Required(field.NewPath("spec"), "")}
}
func (judge) Warnings(_, _ *apiextensions.CustomResourceDefinition) []string {
	return []string{"warned"}
}
func (judge) Complete(*apiextensionsv1.CustomResourceDefinition, string, *spec.Schema) {}

func marked() apiextensions.JSONSchemaProps {
	return apiextensions.JSONSchemaProps{
		Type:                           "string",
		XPermissionVerb:                ptr.To("a"),
		XPermissionExcluded:            true,
		XPermissionParameterSource:     ptr.To("b"),
		XPermissionParameterizedBy:     ptr.To("c"),
		XPermissionParameterTreatment:  ptr.To("d"),
		XPermissionParameterExpression: ptr.To("e"),
		XPermissionScope:               ptr.To("f"),
	}
}

// everywhere returns a definition with the given schema in every position that can hold a
// schema.
func everywhere(one func() apiextensions.JSONSchemaProps) *apiextensions.CustomResourceDefinition {
	deep := func() apiextensions.JSONSchemaProps {
		s := one()
		s.AllOf = []apiextensions.JSONSchemaProps{one()}
		s.AnyOf = []apiextensions.JSONSchemaProps{one()}
		s.OneOf = []apiextensions.JSONSchemaProps{one()}
		s.Not = ptr.To(one())
		s.Items = &apiextensions.JSONSchemaPropsOrArray{Schema: ptr.To(one()),
			JSONSchemas: []apiextensions.JSONSchemaProps{one()}}
		s.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{Schema: ptr.To(one())}
		s.AdditionalItems = &apiextensions.JSONSchemaPropsOrBool{Schema: ptr.To(one())}
		s.Properties = map[string]apiextensions.JSONSchemaProps{"p": one()}
		s.PatternProperties = map[string]apiextensions.JSONSchemaProps{"p": one()}
		s.Definitions = apiextensions.JSONSchemaDefinitions{"p": one()}
		s.Dependencies = apiextensions.JSONSchemaDependencies{"p": {Schema: ptr.To(one())}}
		return s
	}
	root := deep()
	root.Properties["deep"] = deep()
	crd := &apiextensions.CustomResourceDefinition{}
	crd.Spec.Validation = &apiextensions.CustomResourceValidation{OpenAPIV3Schema: root.DeepCopy()}
	crd.Spec.Versions = []apiextensions.CustomResourceDefinitionVersion{
		{Name: "v1", Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: root.DeepCopy()}},
		{Name: "v2"},
	}
	return crd
}

// warnings records the warnings of a request.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// TestExtensionsDropped checks a server that does not enforce permission extensions. It drops
// all extensions from a definition, with a warning, unless the stored definition already has
// one. Then it keeps all.
func TestExtensionsDropped(t *testing.T) {
	defer granular.Install(nil)
	plain := everywhere(func() apiextensions.JSONSchemaProps { return apiextensions.JSONSchemaProps{Type: "string"} })
	full := everywhere(marked)
	for name, test := range map[string]struct {
		install granular.Extensions
		old     *apiextensions.CustomResourceDefinition
		want    *apiextensions.CustomResourceDefinition
	}{
		"nothing installed, create":                {want: plain},
		"off, create":                              {install: judge{}, want: plain},
		"off, update of a definition without any":  {install: judge{}, old: plain, want: plain},
		"off, update of a definition that has one": {install: judge{}, old: everywhere(scoped), want: full},
		"on, create":                               {install: judge{enabled: true}, want: full},
		"on, update":                               {install: judge{enabled: true}, old: plain, want: full},
	} {
		t.Run(name, func(t *testing.T) {
			granular.Install(test.install)
			crd := full.DeepCopy()
			var warned warnings
			granular.DropDisabled(warning.WithWarningRecorder(t.Context(), &warned), crd, test.old)
			if dropped := !reflect.DeepEqual(crd, full); dropped != (len(warned) == 1) || len(warned) > 1 {
				t.Errorf("dropped some: %t, warned %q", dropped, warned)
			}
			if !reflect.DeepEqual(crd, test.want) {
				t.Error("not what was wanted")
			}
			on := test.install != nil && test.install.Enabled()
			if errs := granular.Validate(crd, test.old); len(errs) > 0 != on {
				t.Errorf("validated: %v", errs)
			}
			if told := granular.Warnings(crd, test.old); len(told) > 0 != on {
				t.Errorf("warned: %v", told)
			}
		})
	}
}

func scoped() apiextensions.JSONSchemaProps {
	return apiextensions.JSONSchemaProps{Type: "string", XPermissionScope: ptr.To("f")}
}
