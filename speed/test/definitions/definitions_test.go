// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	utilopenapi "k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/client-go/kubernetes/scheme"
	builderv2 "k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	metadataModel = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	optionsModel  = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
)

// published is the OpenAPI that the server builds for one custom resource definition, in both
// versions of OpenAPI.
type published struct {
	v2 *spec.Swagger
	v3 *spec3.OpenAPI
}

func publish(t *testing.T, number int) published {
	t.Helper()
	kind := fmt.Sprintf("Kind%d", number)
	definition := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: fmt.Sprintf("group%d.example.com", number), Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: strings.ToLower(kind), Kind: kind,
			ListKind: kind + "List"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: "v1", Served: true, Storage: true,
			Subresources: &apiextensionsv1.CustomResourceSubresources{
				Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas",
					StatusReplicasPath: ".status.replicas"},
			},
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object",
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"spec": {Type: "object",
						Properties: map[string]apiextensionsv1.JSONSchemaProps{"replicas": {Type: "integer"}}},
					"embedded": {Type: "object", XEmbeddedResource: true},
				},
			}},
		}},
	}}
	v2, err := builder.BuildOpenAPIV2(definition, "v1", builder.Options{V2: true})
	if err != nil {
		t.Fatal(err)
	}
	v3, err := builder.BuildOpenAPIV3(definition, "v1", builder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return published{v2, v3}
}

func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// ours returns the server's own types that p contains, built without sharing.
func ours(t *testing.T, p published) (v2 spec.Definitions, v3 map[string]*spec.Schema) {
	t.Helper()
	types := utilopenapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)
	namer := openapi.NewDefinitionNamer(scheme.Scheme)
	var names []string
	for name := range p.v3.Components.Schemas {
		if strings.HasPrefix(name, "io.k8s.") {
			names = append(names, name)
		}
	}
	swagger, err := builderv2.BuildOpenAPIDefinitionsForResources(&common.Config{GetDefinitions: types, GetDefinitionName: namer.GetDefinitionName}, names...)
	if err != nil {
		t.Fatal(err)
	}
	v3, err = builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{GetDefinitions: types, GetDefinitionName: namer.GetDefinitionName}, names...)
	if err != nil {
		t.Fatal(err)
	}
	return swagger.Definitions, v3
}

// TestSharedDefinitionsAreThoseOfEach holds that the OpenAPI with shared types is the same as
// without sharing.
func TestSharedDefinitionsAreThoseOfEach(t *testing.T) {
	p := publish(t, 1)
	v2, v3 := ours(t, p)
	if v3[metadataModel] == nil || v3[optionsModel] == nil || len(v3) < 10 {
		t.Fatalf("%d types", len(v3))
	}
	for name, want := range v3 {
		if diff := cmp.Diff(text(t, want), text(t, p.v3.Components.Schemas[name])); diff != "" {
			t.Errorf("v3 %s (-want +got):\n%s", name, diff)
		}
	}
	for name, want := range v2 {
		if diff := cmp.Diff(text(t, want), text(t, p.v2.Definitions[name])); diff != "" {
			t.Errorf("v2 %s (-want +got):\n%s", name, diff)
		}
	}
	for name := range p.v2.Definitions {
		if _, ok := v2[name]; !ok && !strings.Contains(name, ".example.") {
			t.Errorf("%s is neither a type of the server nor of the custom resource", name)
		}
	}
}

// TestSharedDefinitionsAreShared holds that the OpenAPI of two custom resource definitions
// shares the properties of the server's own types in memory, but not their extensions, which
// builders modify.
func TestSharedDefinitionsAreShared(t *testing.T) {
	at := func(v any) uintptr { return reflect.ValueOf(v).Pointer() }
	one, other := publish(t, 1), publish(t, 2)
	for name, s := range one.v3.Components.Schemas {
		if strings.Contains(name, ".example.") {
			continue
		}
		o := other.v3.Components.Schemas[name]
		same(t, "v3 "+name, *s, *o)
	}
	for name, s := range one.v2.Definitions {
		if strings.Contains(name, ".example.") {
			continue
		}
		same(t, "v2 "+name, s, other.v2.Definitions[name])
	}
	kinds := func(s spec.Schema) any { return s.Extensions["x-kubernetes-group-version-kind"] }
	if a, b := kinds(*one.v3.Components.Schemas[optionsModel]), kinds(*other.v3.Components.Schemas[optionsModel]); at(a) != at(b) {
		t.Error("v3: the kinds of options are not shared")
	}
	if a, b := kinds(one.v2.Definitions[optionsModel]), kinds(other.v2.Definitions[optionsModel]); at(a) != at(b) {
		t.Error("v2: the kinds of options are not shared")
	}
}

func same(t *testing.T, name string, a, b spec.Schema) {
	t.Helper()
	at := func(v any) uintptr { return reflect.ValueOf(v).Pointer() }
	if at(a.Properties) != at(b.Properties) {
		t.Errorf("%s: properties are not shared", name)
	}
	if a.Extensions != nil && at(a.Extensions) == at(b.Extensions) {
		t.Errorf("%s: extensions are shared", name)
	}
}

// TestExtensionsNeedNoCleaning holds that all extensions of the shared types have names of
// extensions. Encoding a schema deletes the others from its map, and would so modify a shared
// schema.
func TestExtensionsNeedNoCleaning(t *testing.T) {
	seen := 0
	var look func(name string, s *spec.Schema)
	look = func(name string, s *spec.Schema) {
		for key := range s.Extensions {
			if seen++; !strings.HasPrefix(key, "x-") {
				t.Errorf("%s: %q", name, key)
			}
		}
		for field := range s.Properties {
			property := s.Properties[field]
			look(name+"."+field, &property)
		}
		for _, list := range [][]spec.Schema{s.AllOf, s.AnyOf, s.OneOf} {
			for i := range list {
				look(name, &list[i])
			}
		}
		if s.Items != nil && s.Items.Schema != nil {
			look(name+"[]", s.Items.Schema)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			look(name+"[*]", s.AdditionalProperties.Schema)
		}
	}
	for name, definition := range generatedopenapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef(name) }) {
		look(name, &definition.Schema)
	}
	if seen == 0 {
		t.Error("no extension was looked at")
	}
}

// TestSharedDefinitionsStayAsTheyAre does with OpenAPI what the server does with it, for many
// custom resource definitions at the same time, and checks that no OpenAPI document changes. The
// race detector would report a write to a shared schema.
func TestSharedDefinitionsStayAsTheyAre(t *testing.T) {
	first := publish(t, 0)
	v2, v3 := text(t, first.v2), text(t, first.v3)
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			p := publish(t, i+1)
			p.v2.Definitions = handler.PruneDefaults(p.v2.Definitions)
			merged, err := builder.MergeSpecs(&spec.Swagger{}, p.v2)
			if err == nil {
				merged, err = builder.MergeSpecs(&spec.Swagger{SwaggerProps: spec.SwaggerProps{Definitions: first.v2.Definitions}}, merged)
			}
			if err != nil {
				t.Error(err)
			}
			models, err := builder.MergeSpecsV3(p.v3, publish(t, i+100).v3)
			if err != nil {
				t.Error(err)
			}
			for _, v := range []any{p.v2, merged, p.v3, models} {
				if _, err := json.Marshal(v); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	for _, p := range []published{first, publish(t, 0)} {
		if text(t, p.v2) != v2 || text(t, p.v3) != v3 {
			t.Error("the OpenAPI of a definition has changed after that of others was built")
		}
	}
}
