// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/expression"
)

// placesOf returns the permissions outside of metadata, as PATH=VERB.
func placesOf(tree *schema.Tree) []string {
	var out []string
	for _, p := range tree.Permissions() {
		if !strings.HasPrefix(p.Pattern, ".metadata") {
			out = append(out, strings.TrimPrefix(p.Pattern, ".")+"="+p.Name)
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
		"all":                  {unmarked, ".spec.replicas", "spec.replicas=replicas spec=specification status.conditions=conditions status.conditions[*]=condition status=status"},
		"no scale":             {unmarked, "", "spec=specification status.conditions=conditions status.conditions[*]=condition status=status"},
		"a scale further down": {unmarked, ".spec.pool.size", "spec.pool.size=replicas spec=specification status.conditions=conditions status.conditions[*]=condition status=status"},
		"a scale of what is no number": {unmarked, ".spec.pool.name",
			"spec=specification status.conditions=conditions status.conditions[*]=condition status=status"},
		"a scale of no field":    {unmarked, ".spec.nothing", "spec=specification status.conditions=conditions status.conditions[*]=condition status=status"},
		"a list of conditions":   {with("+list: map, +keys: [type], ", ""), "", "spec=specification status.conditions=conditions status=status"},
		"conditions by two keys": {with("+keys: [type]", "+keys: [type, reason]"), "", "spec=specification status.conditions=conditions status=status"},
		"a type that is a number": {with("{type: {type: string}}", "{type: {type: integer}}"), "",
			"spec=specification status.conditions=conditions status=status"},
		"neither spec nor status":     {"properties: {data: {type: string}}", "", ""},
		"the author's own status":     {with("status: {type: object,", "status: {type: object, +verb: example.com/status,"), "", "spec=specification status.conditions=conditions status.conditions[*]=condition status=example.com/status"},
		"an excluded status":          {with("status: {type: object,", "status: {type: object, +verb: example.com/status, +excluded: true,"), "", "spec=specification status.conditions=conditions status.conditions[*]=condition status=example.com/status"},
		"the author's own condition":  {with("items: {type: object,", "items: {type: object, +verb: example.com/condition,"), "", "spec=specification status.conditions=conditions status.conditions[*]=example.com/condition status=status"},
		"the name is used elsewhere":  {with("name: {type: string}", "name: {type: string, +verb: status}"), "", "spec.pool.name=status spec=specification status.conditions=conditions status.conditions[*]=condition"},
		"the parameter is used":       {with("name: {type: string}", "name: {type: object, +parameter-source: condition-type, additionalProperties: {type: string, +verb: example.com/c, +parameterized-by: condition-type}}"), "", "spec.pool.name[*]=example.com/c spec=specification status.conditions=conditions status=status"},
		"none at all":                 {"{+verb: none, " + unmarked + "}", ".spec.replicas", ""},
		"none of status and below":    {with("status: {type: object,", "status: {type: object, +verb: none,"), ".spec.replicas", "spec.replicas=replicas spec=specification"},
		"none of the scale":           {with("replicas: {type: integer}", "replicas: {type: integer, +verb: none}"), ".spec.replicas", "spec=specification status.conditions=conditions status.conditions[*]=condition status=status"},
		"none of single conditions":   {with("items: {type: object,", "items: {type: object, +verb: none,"), "", "spec=specification status.conditions=conditions status=status"},
		"none at all, and in a field": {"{+verb: none, " + with("status: {type: object,", "status: {type: object, +verb: none,") + "}", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			crd := definition(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
				if tc.scale != "" {
					crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
						Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: tc.scale, StatusReplicasPath: ".status.replicas"},
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
			if v := versionsOf(crd)[0]; tc.schema != "" {
				judged, err := validator().compile(v.schema, v.of)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(placesOf(judged), " "); got != tc.want {
					t.Errorf("judged with %q\nwant %q", got, tc.want)
				}
			}
		})
	}
}

// TestNoneElsewhere holds that "none" stands only where it has a meaning.
func TestNoneElsewhere(t *testing.T) {
	for text, want := range map[string]string{
		`properties: {spec: {type: object, properties: {a: {type: string, +verb: none}}}}`:          `properties[spec].properties[a].x-kubernetes-permission-verb`,
		`properties: {data: {type: string, +verb: none}}`:                                           `properties[data].x-kubernetes-permission-verb`,
		`properties: {spec: {type: object, +verb: none, +excluded: true}}`:                          `properties[spec]`,
		`{+verb: none, +scope: cell, properties: {spec: {type: object}}}`:                           `openAPIV3Schema.x-kubernetes-permission-`,
		`properties: {spec: {type: array, items: {type: string, +verb: none}}}`:                     `items.x-kubernetes-permission-verb`,
		`properties: {status: {type: object, additionalProperties: {type: string, +verb: "none"}}}`: `additionalProperties.x-kubernetes-permission-verb`,
	} {
		errs := validator().Validate(definition(t, nil, text), nil)
		if len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), want) {
			t.Errorf("%s: %v, want an error at %s", text, errs, want)
		}
	}
}
