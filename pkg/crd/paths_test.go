// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/expression"
)

// TestValidatePlaces checks that misplaced extensions are found wherever an author may write one.
func TestValidatePlaces(t *testing.T) {
	const misplacedSource = `Invalid value: "k": must stand on a map, on a list of type map with one key or of type set, or on the schema of such a key` + "\n"
	for _, test := range []struct{ name, schema, want string }{
		{"source in a value of a map", `properties: {a: {type: object, additionalProperties: {type: object, properties: {b: {type: string, +parameter-source: k}}}}}`,
			`.properties[a].additionalProperties.properties[b].x-kubernetes-permission-parameter-source: ` + misplacedSource},
		{"source on what a set holds",
			`properties: {a: {type: array, +list: set, items: {type: string, +parameter-source: k, +verb: a, +parameterized-by: k}}}`,
			""},
		{"source on what an atomic list holds", `properties: {a: {type: array, items: {type: string, +parameter-source: k}}}`,
			`.properties[a].items.x-kubernetes-permission-parameter-source: ` + misplacedSource},
		{"treatment by itself", `properties: {a: {type: string, +parameter-treatment: slash-delimited-prefix}}`,
			`.properties[a].x-kubernetes-permission-parameter-treatment: Invalid value: "slash-delimited-prefix": has no effect without x-kubernetes-permission-parameterized-by` + "\n"},
		{"expression by itself", `properties: {a: {type: string, +parameter-expression: self}}`,
			`.properties[a].x-kubernetes-permission-parameter-expression: Invalid value: "self": has no effect without x-kubernetes-permission-parameterized-by` + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lines(validator().Validate(definition(t, nil, test.schema), nil))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestMisplacedInOrder checks that all misplaced extensions of one schema are reported in the order
// of their names, however the server iterates over them.
func TestMisplacedInOrder(t *testing.T) {
	crd := definition(t, nil, `{+verb: a, +excluded: true, +parameter-source: b, +parameterized-by: c, +parameter-treatment: slash-delimited-prefix, +scope: d, properties: {a: {type: string}}}`)
	var want string
	for _, name := range []string{"excluded", "parameter-source", "parameter-treatment", "parameterized-by", "scope", "verb"} {
		want += ".x-kubernetes-permission-" + name + ": Forbidden: the object as a whole can't have a permission, because its metadata has permissions of its own\n"
	}
	if diff := cmp.Diff(want, lines(validator().Validate(crd, nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestValidateJunctors checks that extensions below anyOf, oneOf and not, where they have no
// effect, are refused. Upstream refuses extensions below allOf itself, because a structural
// schema has none there.
func TestValidateJunctors(t *testing.T) {
	for _, junctor := range []string{"anyOf: [{+verb: b}]", "oneOf: [{+verb: b}]", "not: {+verb: b}"} {
		if errs := validator().Validate(definition(t, nil, `properties: {a: {type: string, `+junctor+`}}`), nil); len(errs) == 0 {
			t.Errorf("accepted: %s", junctor)
		}
	}
}

// TestValidateVersionsWithoutSchema checks that a version without a schema is no error of this
// package, and that the other versions are still validated.
func TestValidateVersionsWithoutSchema(t *testing.T) {
	const wrong = `properties: {a: {type: string, +verb: A}}`
	for name, take := range map[string]func(v *apiextensionsv1.CustomResourceDefinitionVersion){
		"none":  func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Schema = nil },
		"empty": func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Schema.OpenAPIV3Schema = nil },
	} {
		crd := definition(t, func(crd *apiextensionsv1.CustomResourceDefinition) { take(&crd.Spec.Versions[0]) }, `type: object`, wrong)
		errs := validator().Validate(crd, nil)
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Field, "spec.versions[1].") {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// TestValidateNoModels checks that permissions are refused in a schema from which no models can
// be made.
func TestValidateNoModels(t *testing.T) {
	crd := definition(t, nil, `properties: {a: {type: string, +verb: a, +excluded: true}}`)
	s := crd.Spec.Validation.OpenAPIV3Schema
	s.Properties["b"] = apiextensions.JSONSchemaProps{Type: "array",
		Items: &apiextensions.JSONSchemaPropsOrArray{JSONSchemas: []apiextensions.JSONSchemaProps{{Type: "string"}}}}
	if _, err := validator().compile(s); err == nil {
		t.Error("compiled")
	}
	p := s.Properties["a"]
	p.Items = s.Properties["b"].Items
	s.Properties["a"] = p
	if errs := validator().Validate(crd, nil); len(errs) == 0 {
		t.Error("accepted")
	}
}

func TestEnabled(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		if got := New(func() bool { return enabled }, expression.Accepted()).Enabled(); got != enabled {
			t.Errorf("%v, is %v", got, enabled)
		}
	}
}

// TestSameTreeAsServedBelowLists checks that validation uses the server's own schemas wherever
// the server does, and the same defaults for the keys of list elements.
func TestSameTreeAsServedBelowLists(t *testing.T) {
	const cell = `{type: object, +scope: cell, +embedded: true, +preserve: true}`
	for name, text := range map[string]string{
		"nothing but metadata":    `properties: {a: ` + cell + `}`,
		"elements of a list":      `properties: {a: {type: array, items: ` + cell + `}}`,
		"values of a map":         `properties: {a: {type: object, additionalProperties: ` + cell + `}}`,
		"below elements":          `properties: {a: {type: array, items: {type: object, properties: {b: ` + cell + `}}}}`,
		"the object's own fields": `properties: {kind: {type: string, +verb: kind}, apiVersion: {type: string, +verb: version}, a: {type: string, +verb: a}}`,
		"a key with a default":    `properties: {a: {type: array, +list: map, +keys: [k, l], items: {type: object, +verb: v, required: [k], properties: {k: {type: string}, l: {type: string, default: x}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			crd := definition(t, nil, text)
			judged, err := validator().compile(prune(crd.Spec.Validation.OpenAPIV3Schema))
			if err != nil {
				t.Fatal(err)
			}
			enforced, err := schema.NewModels(served(t, crd), schema.WithExpressions(expression.Stored())).ByKind(thing)
			if err != nil {
				t.Fatal(err)
			}
			enforced.Name = judged.Name
			if diff := cmp.Diff(enforced.String(), judged.String()); diff != "" {
				t.Errorf("(-served +judged):\n%s", diff)
			}
			if diff := cmp.Diff(keys(enforced), keys(judged)); diff != "" {
				t.Errorf("keys (-served +judged):\n%s", diff)
			}
		})
	}
}

// keys returns the keys of all lists of a tree, by the pattern of the list's path.
func keys(tree *schema.Tree) map[string][]schema.Key {
	out := map[string][]schema.Key{}
	for place := range tree.NodePaths() {
		if k := place.Node().Keys(); k != nil {
			out[place.Pattern()] = k
		}
	}
	return out
}

// TestWarningsWithoutDomain checks that the name that a warning suggests has a valid domain, even
// if the group of the definition has none.
func TestWarningsWithoutDomain(t *testing.T) {
	for group, want := range map[string]string{"example.org": `use "example.org/mine"`, "things": `use "example.com/mine"`} {
		crd := definition(t, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Group = group },
			`properties: {a: {type: object, additionalProperties: {type: string, +verb: mine}}}`)
		got := validator().Warnings(crd, nil)
		if len(got) != 1 || !strings.HasSuffix(got[0], want) {
			t.Errorf("%s: %q, want %s", group, got, want)
		}
	}
}
