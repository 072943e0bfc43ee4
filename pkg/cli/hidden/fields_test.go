// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package hidden

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestFields checks which fields of managed fields are reported as fields of no version.
func TestFields(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(`spec: {versions: [
{name: v1, schema: {openAPIV3Schema: {type: object, properties: {
  spec: {type: object, properties: {a: {type: integer},
    words: {type: object, additionalProperties: {type: object, properties: {a: {type: integer}}}},
    open: {type: object, additionalProperties: true}, free: {type: object, x-kubernetes-preserve-unknown-fields: true},
    template: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}},
    parts: {type: array, items: {type: object, properties: {name: {type: string}, a: {type: integer}}}}}}}}}},
{name: v2, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {only2: {type: integer}}}}}}},
{name: v3}]}`), crd); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		fields string
		want   []string
	}{
		"fields of a version":        {`{"f:metadata":{"f:gone":{}},"f:spec":{".":{},"f:a":{},"f:only2":{}}}`, nil},
		"a field":                    {`{"f:spec":{"f:a":{},"f:x":{}}}`, []string{"spec.x"}},
		"only the topmost":           {`{"f:spec":{"f:x":{".":{},"f:y":{}}}}`, []string{"spec.x"}},
		"at the root":                {`{"f:extra":{},"f:spec":{}}`, []string{"extra"}},
		"in a map":                   {`{"f:spec":{"f:words":{"f:w":{"f:a":{},"f:x":{}}}}}`, []string{"spec.words.w.x"}},
		"in an element":              {`{"f:spec":{"f:parts":{"k:{\"name\":\"n\"}":{".":{},"f:name":{},"f:x":{}}}}}`, []string{"spec.parts[*].x"}},
		"an element of no list":      {`{"f:spec":{"f:a":{"v:1":{}}}}`, []string{"spec.a[*]"}},
		"where unknown fields stay":  {`{"f:spec":{"f:free":{"f:x":{"f:y":{}}},"f:open":{"f:x":{}}}}`, nil},
		"in an embedded object":      {`{"f:spec":{"f:template":{"f:apiVersion":{},"f:kind":{},"f:metadata":{"f:name":{}},"f:x":{}}}}`, []string{"spec.template.x"}},
		"two, in the order of paths": {`{"f:spec":{"f:y":{},"f:x":{}}}`, []string{"spec.x", "spec.y"}},
	} {
		fields := metav1.NewFieldsV1(tc.fields)
		got, err := Fields(Schemas(crd), []metav1.ManagedFieldsEntry{{}, {FieldsV1: fields}, {FieldsV1: fields}})
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, %v, wanted %q", name, got, err, tc.want)
		}
	}
	if _, err := Fields(nil, []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1("x")}}); err == nil {
		t.Error("malformed managed fields are no error")
	}
}
