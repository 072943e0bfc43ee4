// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"regexp"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apiextensions-apiserver/pkg/granular"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/pkg/expression"
)

// unmarkedLarge returns the schema that large returns, without permission extensions.
func unmarkedLarge() string {
	return regexp.MustCompile(`, \+(verb|parameterized-by|parameter-source): [^,}]*`).ReplaceAllString(large(20, 10), "")
}

// BenchmarkConventions makes the models (OpenAPI schemas) of a large definition without
// permission extensions, with the gate on and off.
func BenchmarkConventions(b *testing.B) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := scheme.Convert(definition(b, nil, unmarkedLarge()), crd, nil); err != nil {
		b.Fatal(err)
	}
	for _, side := range []struct {
		name string
		on   bool
	}{{"off", false}, {"on", true}} {
		b.Run(side.name, func(b *testing.B) {
			granular.Install(New(func() bool { return side.on }, expression.Accepted()))
			defer granular.Install(validator())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := builder.BuildOpenAPIV3(crd, "v1", builder.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("alone", func(b *testing.B) {
		v := validator()
		b.ReportAllocs()
		for b.Loop() {
			v.Complete(crd, "v1", &spec.Schema{})
		}
	})
}
