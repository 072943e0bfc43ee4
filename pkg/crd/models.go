// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"maps"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apiextensions-apiserver/pkg/granular"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

const (
	rootName   = "root"
	objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
)

// replaced has the names of those properties whose schemas the server replaces by its own, at the
// root of an object and in an embedded resource.
var replaced = []string{"apiVersion", "kind", "metadata"}

// compile compiles the permission tree of a version, whose schema is s. It builds the same OpenAPI
// models as upstream's pkg/controller/openapi/builder builds when the version is served.
func (v *Validator) compile(s *apiextensions.JSONSchemaProps) (*schema.Tree, error) {
	converted, err := structural.NewStructural(s)
	if err != nil {
		return nil, err
	}
	root := converted.ToKubeOpenAPI()
	withoutNone(root)
	useServerSchemas(root, true)
	models := maps.Clone(builtin())
	models[rootName] = root
	return schema.NewModels(models,
		schema.WithExpressions(v.expressions), schema.WithMaxPermissionsOnPath(MaxPermissionsOnPath)).Compile(rootName)
}

// legacy reports whether a definition has a schema that is not structural, which is possible only
// if it was stored before upstream required structural schemas.
func legacy(crd *apiextensions.CustomResourceDefinition) bool {
	return apiextensions.IsCRDConditionTrue(crd, apiextensions.NonStructuralSchema)
}

// unstructured returns an error if a schema has permission extensions but is not structural. Such a
// schema is served with models that have no fields, so the extensions would have no effect.
func unstructured(version *crdVersion) field.ErrorList {
	if !granular.Uses(version.schema) {
		return nil
	}
	s, err := structural.NewStructural(version.full)
	if err == nil {
		err = structural.ValidateStructural(version.path, s).ToAggregate()
	}
	if err == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(version.path, "permissions need a structural schema")}
}

// useServerSchemas puts the server's own schemas into a model, in all places where the server does
// so: at the root of an object, and in embedded resources. object is true if s is the root of an
// object.
func useServerSchemas(s *spec.Schema, object bool) {
	for name := range s.Properties {
		p := s.Properties[name]
		useServerSchemas(&p, false)
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		useServerSchemas(s.Items.Schema, false)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		useServerSchemas(s.AdditionalProperties.Schema, false)
	}
	if embedded, _ := s.Extensions.GetBool("x-kubernetes-embedded-resource"); !embedded && !object {
		return
	}
	for _, name := range replaced {
		delete(s.Properties, name)
	}
	s.SetProperty("metadata", *spec.RefSchema("#/definitions/" + objectMeta))
}

// builtin returns the definition of object metadata and all definitions that it refers to.
var builtin = sync.OnceValue(func() map[string]*spec.Schema {
	all := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/definitions/" + common.EscapeJsonPointer(name))
	})
	out := map[string]*spec.Schema{}
	queue := []string{objectMeta}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if definition, ok := all[name]; ok && out[name] == nil {
			out[name] = &definition.Schema
			for _, d := range definition.Dependencies {
				queue = append(queue, strings.ReplaceAll(d, "~1", "/"))
			}
		}
	}
	return out
})
