// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/granular"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestConverted checks for which versions the server converts an object to judge a write: if
// the definition has a conversion webhook, all served or stored versions that exclude
// something, and otherwise none.
func TestConverted(t *testing.T) {
	kind := func(version string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "g", Version: version, Kind: "K"}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{
		{Name: "v1", Storage: true}, {Name: "v2", Served: true}, {Name: "v3"}, {Name: "v4", Served: true},
	}
	excludes := []schema.GroupVersionKind{kind("v1"), kind("v2"), kind("v3")}
	for _, tc := range []struct {
		conversion *apiextensionsv1.CustomResourceConversion
		want       []schema.GroupVersionKind
	}{
		{nil, nil},
		{&apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}, nil},
		{&apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}, excludes[:2]},
	} {
		crd.Spec.Conversion = tc.conversion
		if got := granular.Converted(crd, excludes); !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %v, wanted %v", tc.conversion, got, tc.want)
		}
	}
}
