// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestMixedTreatments checks that one permission does not have verbs for one key in one field, and verbs
// for whole keys or values in another one. The twins are permissions whose verbs can't be confused.
func TestMixedTreatments(t *testing.T) {
	const (
		split   = `{type: object, +parameter-source: key, additionalProperties: {type: string, +verb: VERB, +parameterized-by: key, +parameter-treatment: slash-delimited-prefix}}`
		whole   = `{type: object, +parameter-source: key, additionalProperties: {type: string, +verb: VERB, +parameterized-by: key}}`
		made    = `{type: object, +parameter-source: key, additionalProperties: {type: string, +verb: VERB, +parameterized-by: key, +parameter-expression: self}}`
		value   = `{type: array, +list: set, items: {type: string, +verb: VERB, +parameterized-by: self}}`
		closed  = `{type: object, +parameter-source: key, additionalProperties: {type: string, +verb: VERB, +excluded: true, +parameterized-by: key, +parameter-treatment: slash-delimited-prefix}}`
		shut    = `{type: object, +parameter-source: key, additionalProperties: {type: string, +verb: VERB, +excluded: true, +parameterized-by: key}}`
		plain   = `{type: string, +verb: VERB}`
		message = `the permission takes a key apart at the slash at `
	)
	for _, tc := range []struct{ name, verb, a, b, want string }{
		{"a key and a part of it", "acme.io/mark", split, whole, `.properties[b].additionalProperties.x-kubernetes-permission-verb: Invalid value: "acme.io/mark": ` + message + `.a[*], and not at .b[*]`},
		{"in the other order", "acme.io/mark", whole, split, `.properties[b].additionalProperties.x-kubernetes-permission-verb: Invalid value: "acme.io/mark": ` + message + `.b[*], and not at .a[*]`},
		{"an expression", "acme.io/mark", split, made, message},
		{"a value", "acme.io/mark", split, value, message},
		{"a name of metadata", "label", plain, whole, `.properties[b].additionalProperties.x-kubernetes-permission-verb: Invalid value: "label": ` + message + `.metadata.labels[*], and not at .b[*]`},
		{"a name of metadata, before it", "annotation", whole, plain, `.properties[a].additionalProperties.x-kubernetes-permission-verb: Invalid value: "annotation": ` + message + `.metadata.annotations[*], and not at .a[*]`},

		{"the same twice", "acme.io/mark", split, split, ""},
		{"whole twice", "acme.io/mark", whole, made, ""},
		{"a part of an excluded key", "acme.io/mark", closed, shut, ""},
		{"without a parameter", "acme.io/mark", split, plain, ""},
		{"a name of metadata with the same meaning", "label", plain, split, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			schema := strings.ReplaceAll("properties: {a: "+tc.a+", b: "+tc.b+"}", "VERB", tc.verb)
			crd := definition(t, nil, schema)
			got := lines(validator().Validate(crd, nil))
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) || strings.Count(got, message) > 1 {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if errs := validator().Validate(crd, crd); len(errs) > 0 {
				t.Errorf("what was stored so is no error: %v", errs)
			}
		})
	}

	// A verb has no version, so two versions are compared as well; but only those that are in use.
	versions := []string{
		strings.ReplaceAll("properties: {a: "+split+"}", "VERB", "acme.io/mark"),
		strings.ReplaceAll("properties: {a: "+whole+"}", "VERB", "acme.io/mark"),
	}
	if errs := validator().Validate(definition(t, nil, versions...), nil); len(errs) != 1 || !strings.Contains(errs[0].Detail, message) {
		t.Errorf("two versions: %v", errs)
	}
	unserved := func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false }
	if errs := validator().Validate(definition(t, unserved, versions...), nil); len(errs) > 0 {
		t.Errorf("one version in use: %v", errs)
	}
}
