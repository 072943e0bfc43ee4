// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/granular"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/pkg/expression"
)

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	install.Install(s)
	return s
}()

// init makes upstream's builder of models add permissions by convention, as in a server with the
// gate on.
func init() { granular.Install(validator()) }

func validator() *Validator {
	return New(func() bool { return true }, expression.Accepted())
}

// definition returns a definition with the versions v1, v2 and so on. Each schema is the YAML
// below openAPIV3Schema. Names of extensions are abbreviated: +verb stands for
// x-kubernetes-permission-verb.
func definition(t testing.TB, change func(*apiextensionsv1.CustomResourceDefinition), schemas ...string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	out := &apiextensionsv1.CustomResourceDefinition{}
	out.Name = "things.example.com"
	out.Spec.Group = "example.com"
	out.Spec.Scope = apiextensionsv1.NamespaceScoped
	out.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing",
		Singular: "thing", ListKind: "ThingList"}
	for i, text := range schemas {
		text = short(text)
		props := &apiextensionsv1.JSONSchemaProps{}
		if err := yaml.UnmarshalStrict([]byte(text), props); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if props.Type == "" {
			props.Type = "object"
		}
		out.Spec.Versions = append(out.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: "v" + string(rune('1'+i)), Served: true, Storage: i == 0,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props},
		})
	}
	if change != nil {
		change(out)
	}
	internal := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(out, internal, nil); err != nil {
		t.Fatal(err)
	}
	return internal
}

func short(text string) string {
	for _, name := range []string{"verb", "excluded", "parameter-source", "parameterized-by", "parameter-treatment", "parameter-expression", "scope"} {
		text = strings.ReplaceAll(text, "+"+name+":", "x-kubernetes-permission-"+name+":")
	}
	text = strings.ReplaceAll(text, "+list:", "x-kubernetes-list-type:")
	text = strings.ReplaceAll(text, "+keys:", "x-kubernetes-list-map-keys:")
	text = strings.ReplaceAll(text, "+preserve:", "x-kubernetes-preserve-unknown-fields:")
	return strings.ReplaceAll(text, "+embedded:", "x-kubernetes-embedded-resource:")
}
