// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/expression"
)

// placesOf returns the permissions of a tree outside of metadata, as PATH=NAME or
// PATH=NAME(SOURCE).
func placesOf(tree *schema.Tree) []string {
	var out []string
	for _, p := range tree.Permissions() {
		if !strings.HasPrefix(p.Pattern, ".metadata") {
			verb := p.Name
			if p.Parameter != nil {
				verb += "(" + p.Parameter.Source + ")"
			}
			out = append(out, strings.TrimPrefix(p.Pattern, ".")+"="+verb)
		}
	}
	slices.Sort(out)
	return out
}

const unmarked = `properties: {spec: {type: object, properties: {replicas: {type: integer}, pool: {type: object, properties: {size: {type: integer}, name: {type: string}}}}},
status: {type: object, properties: {conditions: {type: array, +list: map, +keys: [type], items: {type: object, required: [type], properties: {type: {type: string}}}}}}}`

func TestConventions(t *testing.T) {
	with := func(old, text string) string {
		if !strings.Contains(unmarked, old) {
			t.Fatalf("no %q", old)
		}
		return strings.ReplaceAll(unmarked, old, text)
	}
	for name, tc := range map[string]struct {
		schema, scale string
		want          string
	}{
		"all": {unmarked, ".spec.replicas",
			"spec.replicas=replicas spec=specification status.conditions=conditions status.conditions[*]=condition(condition-type) status=status"},
		"no scale": {unmarked, "",
			"spec=specification status.conditions=conditions status.conditions[*]=condition(condition-type) status=status"},
		"a scale further down": {unmarked, ".spec.pool.size",
			"spec.pool.size=replicas spec=specification status.conditions=conditions status.conditions[*]=condition(condition-type) status=status"},
		"a scale of what is no number": {unmarked, ".spec.pool.name",
			"spec=specification status.conditions=conditions status.conditions[*]=condition(condition-type) status=status"},
		"a scale of no field": {unmarked, ".spec.nothing",
			"spec=specification status.conditions=conditions status.conditions[*]=condition(condition-type) status=status"},
		"a list of conditions": {with("+list: map, +keys: [type], ", ""), "",
			"spec=specification status.conditions=conditions status=status"},
		"conditions by two keys": {with("+keys: [type]", "+keys: [type, reason]"), "",
			"spec=specification status.conditions=conditions status=status"},
		"a type that is a number": {with("{type: {type: string}}", "{type: {type: integer}}"), "",
			"spec=specification status.conditions=conditions status=status"},
		"neither spec nor status": {"properties: {data: {type: string}}", "", ""},
		"none at all":             {"{+verb: none, " + unmarked + "}", ".spec.replicas", ""},
		"a permission anywhere": {with("name: {type: string}", "name: {type: string, +verb: example.com/name}"),
			".spec.replicas", "spec.pool.name=example.com/name"},
		"a permission of the values of a map": {with("name: {type: string}",
			"name: {type: object, additionalProperties: {type: string, +verb: example.com/v}}"),
			".spec.replicas", "spec.pool.name[*]=example.com/v"},
		"a scope anywhere": {with("name: {type: string}", "name: {type: object, +scope: example.com/s}"),
			".spec.replicas", "spec.pool.name=example.com/s"},
		"a parameter anywhere": {with("items: {type: object, required: [type], properties: {type: {type: string}}}", "items: {type: object, required: [type], properties: {type: {type: string, +parameter-source: t}}}"),
			"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			crd := definition(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
				if tc.scale != "" {
					crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
						Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: tc.scale,
							StatusReplicasPath: ".status.replicas"},
					}
				}
			}, tc.schema)
			if errs := validator().Validate(crd, nil); len(errs) > 0 {
				t.Fatal(errs)
			}
			for _, w := range validator().Warnings(crd, nil) {
				if strings.Contains(w, `"none"`) {
					t.Errorf("warned: %s", w)
				}
			}
			tree, err := schema.NewModels(served(t, crd), schema.WithExpressions(expression.Stored())).ByKind(thing)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(placesOf(tree), " "); got != tc.want {
				t.Errorf("served with %q\nwant %q", got, tc.want)
			}
		})
	}
}

// TestConventionsOfAllVersions checks that no version has permissions by convention if any version
// has a permission extension.
func TestConventionsOfAllVersions(t *testing.T) {
	for text, want := range map[string]string{unmarked: "specification", "{+verb: none, " + unmarked + "}": "", `properties: {a: {type: string, +verb: example.com/a}}`: ""} {
		tree, err := schema.NewModels(served(t, definition(t, nil, unmarked, text)), schema.WithExpressions(expression.Stored())).ByKind(thing)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(placesOf(tree), " "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("v1 beside %s: %q", text, got)
		}
	}
}

// TestConventionsWithoutSchema checks that a version without a schema does not prevent
// permissions by convention.
func TestConventionsWithoutSchema(t *testing.T) {
	for _, validation := range []*apiextensionsv1.CustomResourceValidation{nil, {}} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Schema: validation}}
		model := &spec.Schema{SchemaProps: spec.SchemaProps{Properties: map[string]spec.Schema{"spec": {}}}}
		validator().Complete(crd, "v1", model)
		if got := model.Properties["spec"].Extensions[schema.ExtVerb]; got != "specification" {
			t.Errorf("got %v", got)
		}
	}
}

// TestNoneElsewhere checks that the verb "none" is refused below the root and beside other
// extensions.
func TestNoneElsewhere(t *testing.T) {
	for text, want := range map[string]string{
		`properties: {spec: {type: object, +verb: none}}`:                                         `properties[spec].x-kubernetes-permission-verb`,
		`properties: {data: {type: object, additionalProperties: {type: string, +verb: "none"}}}`: `additionalProperties.x-kubernetes-permission-verb`,
		`{+verb: none, +scope: cell, properties: {spec: {type: object}}}`:                         `openAPIV3Schema.x-kubernetes-permission-`,
		`{+verb: none, +excluded: true, properties: {spec: {type: object}}}`:                      `openAPIV3Schema.x-kubernetes-permission-`,
		`{+verb: example.com/all, properties: {spec: {type: object}}}`:                            `the object as a whole can't have a permission`,
	} {
		errs := validator().Validate(definition(t, nil, text), nil)
		if len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), want) {
			t.Errorf("%s: %v, want an error at %s", text, errs, want)
		}
	}
}

// TestEndOfConventions checks that an author who adds the first permission extension to a
// definition is warned once that its permissions by convention end.
func TestEndOfConventions(t *testing.T) {
	silent, speaks := definition(t, nil, unmarked), definition(t, nil, strings.Replace(unmarked, "name: {type: string}", "name: {type: string, +verb: example.com/name}", 1))
	if got := validator().Warnings(speaks, silent); len(got) != 1 || !strings.Contains(got[0], "by convention any more") {
		t.Errorf("warned of %q", got)
	}
	for _, old := range []*apiextensions.CustomResourceDefinition{nil, speaks} {
		if got := validator().Warnings(speaks, old); len(got) != 0 {
			t.Errorf("warned of %q", got)
		}
	}
}
