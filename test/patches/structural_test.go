// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/utils/ptr"
)

// alone maps each permission extension to a function that sets just this extension in a schema.
var alone = map[string]func(*apiextensions.JSONSchemaProps){
	"x-kubernetes-permission-verb":                 func(s *apiextensions.JSONSchemaProps) { s.XPermissionVerb = ptr.To("a") },
	"x-kubernetes-permission-excluded":             func(s *apiextensions.JSONSchemaProps) { s.XPermissionExcluded = true },
	"x-kubernetes-permission-parameter-source":     func(s *apiextensions.JSONSchemaProps) { s.XPermissionParameterSource = ptr.To("b") },
	"x-kubernetes-permission-parameterized-by":     func(s *apiextensions.JSONSchemaProps) { s.XPermissionParameterizedBy = ptr.To("c") },
	"x-kubernetes-permission-parameter-treatment":  func(s *apiextensions.JSONSchemaProps) { s.XPermissionParameterTreatment = ptr.To("d") },
	"x-kubernetes-permission-parameter-expression": func(s *apiextensions.JSONSchemaProps) { s.XPermissionParameterExpression = ptr.To("e") },
	"x-kubernetes-permission-scope":                func(s *apiextensions.JSONSchemaProps) { s.XPermissionScope = ptr.To("") },
}

func structural(t *testing.T, s *apiextensions.JSONSchemaProps) *schema.Structural {
	t.Helper()
	node, err := schema.NewStructural(s)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// TestExtensionsInStructuralSchemas checks that each permission extension, alone and together
// with the others, is kept in a structural schema, in its copy, and in the OpenAPI models made
// from it.
func TestExtensionsInStructuralSchemas(t *testing.T) {
	schemas := map[string]*apiextensions.JSONSchemaProps{"all": ptr.To(marked()), "none": {Type: "string"}}
	for extension, set := range alone {
		schemas[extension] = &apiextensions.JSONSchemaProps{Type: "string"}
		set(schemas[extension])
	}
	for name, want := range schemas {
		t.Run(name, func(t *testing.T) {
			node := structural(t, want)
			text, err := json.Marshal(node.DeepCopy().ToKubeOpenAPI())
			if err != nil {
				t.Fatal(err)
			}
			published, got := apiextensionsv1.JSONSchemaProps{}, apiextensions.JSONSchemaProps{}
			if err := json.Unmarshal(text, &published); err != nil {
				t.Fatal(err)
			}
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&published, &got, nil); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(&got, want) {
				t.Errorf("came through as %s", text)
			}
			if has := node.XPermission.Any(); has != (name != "none") {
				t.Errorf("the node has extensions: %v", has)
			}
		})
	}
}

// TestExtensionsNotBelowJunctors checks that each permission extension is refused below allOf.
func TestExtensionsNotBelowJunctors(t *testing.T) {
	for extension, set := range alone {
		t.Run(extension, func(t *testing.T) {
			s := &apiextensions.JSONSchemaProps{Type: "object", AllOf: []apiextensions.JSONSchemaProps{{}}}
			set(&s.AllOf[0])
			var got []string
			for _, err := range schema.ValidateStructural(nil, structural(t, s)) {
				got = append(got, err.Field)
			}
			if want := []string{"allOf[0]." + extension}; !slices.Equal(got, want) {
				t.Errorf("refused %v, not %v", got, want)
			}
		})
	}
}

// TestStructuralNodeSize checks that our fields do not make a node of a structural schema use
// more memory. Upstream's node has 200 bytes, and the Go runtime allocates 208 for it. Every
// definition has hundreds of nodes, and upstream copies them when it validates an update.
func TestStructuralNodeSize(t *testing.T) {
	if size := unsafe.Sizeof(schema.Structural{}); size > 208 {
		t.Errorf("a node takes %d bytes", size)
	}
}
