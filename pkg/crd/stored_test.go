// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestLostFields checks which warnings an author gets whose definition loses fields that objects
// may store. Without permission extensions there are none, as on upstream's server.
func TestLostFields(t *testing.T) {
	const schema = `properties: {root: {type: string}, spec: {type: object, +verb: specification, properties: {
		a: {type: string}, x: {type: object, properties: {q: {type: string}}},
		words: {type: object, additionalProperties: {type: object, properties: {w: {type: string}}}},
		parts: {type: array, items: {type: object, properties: {p: {type: string}}}}}}}`
	without := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(schema) }
	for name, tc := range map[string]struct {
		old, new []string // the schemas of v1, which is stored, and v2
		change   func(*apiextensionsv1.CustomResourceDefinition)
		want     []string // the fields of the warnings
	}{
		"nothing":             {[]string{schema}, []string{schema}, nil, nil},
		"a new field":         {[]string{without("a: {type: string}, ", "")}, []string{schema}, nil, nil},
		"a field":             {[]string{schema}, []string{without("a: {type: string}, ", "")}, nil, []string{".spec.a"}},
		"at the root":         {[]string{schema}, []string{without("root: {type: string}, ", "")}, nil, []string{".root"}},
		"only the topmost":    {[]string{schema}, []string{without("x: {type: object, properties: {q: {type: string}}},", "")}, nil, []string{".spec.x"}},
		"below a field":       {[]string{schema}, []string{without("q: {type: string}", "z: {type: string}")}, nil, []string{".spec.x.q"}},
		"in a map":            {[]string{schema}, []string{without("w: {type: string}", "z: {type: string}")}, nil, []string{".spec.words[*].w"}},
		"in an element":       {[]string{schema}, []string{without("p: {type: string}", "z: {type: string}")}, nil, []string{".spec.parts[*].p"}},
		"the values of a map": {[]string{schema}, []string{without("additionalProperties: {type: object, properties: {w: {type: string}}}", "properties: {}")}, nil, []string{".spec.words[*]"}},
		"a map in its place":  {[]string{schema}, []string{without("properties: {q: {type: string}}", "additionalProperties: {type: string}")}, nil, nil},
		"below a map in its place": {[]string{without("q: {type: string}", "q: {type: object, properties: {r: {type: string}}}")},
			[]string{without("properties: {q: {type: string}}", "additionalProperties: {type: object, properties: {z: {type: string}}}")}, nil, []string{".spec.x.q.r"}},
		"what the server replaces":                  {[]string{without("root:", "metadata: {type: object, properties: {name: {type: string}}}, root:")}, []string{schema}, nil, nil},
		"with the name of what the server replaces": {[]string{without("a: {", "kind: {")}, []string{without("a: {type: string}, ", "")}, nil, []string{".spec.kind"}},
		"unknown fields stay":                       {[]string{schema}, []string{without("properties: {q: {type: string}}", "+preserve: true")}, nil, nil},
		"any value":                                 {[]string{schema}, []string{without("properties: {q: {type: string}}", "additionalProperties: true")}, nil, nil},
		"two":                                       {[]string{schema}, []string{without("a: {type: string}, ", "", "root: {type: string}, ", "")}, nil, []string{".root", ".spec.a"}},
		"the permission goes, too": {[]string{schema},
			[]string{without("+verb: specification, ", "", "a: {type: string}, ", "")}, nil, []string{".spec.a"}},
		"without permission extensions": {[]string{without("+verb: specification, ", "")},
			[]string{without("+verb: specification, ", "", "a: {type: string}, ", "")}, nil, nil},
		"a version never stored": {[]string{schema, schema}, []string{schema, without("a: {type: string}, ", "")}, nil, nil},
		"a version once stored": {[]string{schema, schema + "\n"}, []string{schema, without("a: {type: string}, ", "")},
			func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.StoredVersions = []string{"v1", "v2"} }, []string{".spec.a"}},
	} {
		got := validator().Warnings(definition(t, tc.change, tc.new...), definition(t, tc.change, tc.old...))
		if len(got) != len(tc.want) {
			t.Errorf("%s: %q, wanted warnings about %q", name, got, tc.want)
			continue
		}
		for i, field := range tc.want {
			if !strings.Contains(got[i], " has no field "+field+" any more, but stored objects may have it") ||
				!strings.HasSuffix(got[i], "kubectl granular stored things.example.com lists these objects") {
				t.Errorf("%s: %q, wanted a warning about %s", name, got[i], field)
			}
		}
	}
	former := definition(t, nil, without("+verb: specification, ", ""))
	first := validator().Warnings(definition(t, nil, without("a: {type: string}, ", "")), former)
	if len(first) != 2 || !strings.Contains(first[1], " has no field .spec.a any more") {
		t.Errorf("with its first permission: %q", first)
	}
}

// TestNamesOfVersions checks that the author of a definition is warned once if its versions name
// different permissions.
func TestNamesOfVersions(t *testing.T) {
	const schema = `properties: {spec: {type: object, +verb: specification, properties: {a: {type: string, +verb: example.com/a}, b: {type: string}, kind: {type: string},
		words: {type: object, additionalProperties: {type: object, properties: {w: {type: string}}}}, parts: {type: array, items: {type: object, properties: {p: {type: string}}}}}}}`
	webhook := func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{}, ConversionReviewVersions: []string{"v1"}}}
	}
	unused := func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false }
	for name, tc := range map[string]struct {
		v2     string
		change func(*apiextensionsv1.CustomResourceDefinition)
		want   string
	}{
		"equal":         {schema + "\n", nil, ""},
		"another":       {strings.Replace(schema, "example.com/a", "example.com/z", 1), nil, "field .spec.a has permission example.com/z in version v2, and permission example.com/a in version v1, which is stored"},
		"none":          {strings.Replace(schema, ", +verb: example.com/a", "", 1), nil, "field .spec.a has no permission of its own in version v2, and permission example.com/a in version v1"},
		"one more":      {strings.Replace(schema, "b: {type: string", "b: {type: string, +verb: example.com/a", 1), nil, "field .spec.b has permission example.com/a in version v2, and no permission of its own in version v1"},
		"in a map":      {strings.Replace(schema, "w: {type: string", "w: {type: string, +verb: example.com/a", 1), nil, "field .spec.words[*].w has permission example.com/a in version v2"},
		"in an element": {strings.Replace(schema, "p: {type: string", "p: {type: string, +verb: example.com/a", 1), nil, "field .spec.parts[*].p has permission example.com/a in version v2"},
		"with the name of what the server replaces": {strings.Replace(schema, "kind: {type: string", "kind: {type: string, +verb: example.com/a", 1), nil, "field .spec.kind has permission example.com/a in version v2"},
		"not served":               {strings.Replace(schema, "example.com/a", "example.com/z", 1), unused, ""},
		"a field that is missing":  {strings.Replace(schema, "a: {type: string, +verb: example.com/a}, ", "", 1), nil, ""},
		"moved, the same name":     {strings.Replace(schema, "a: {", "z: {", 1), webhook, ""},
		"moved, another name":      {strings.Replace(schema, "a: {type: string, +verb: example.com/a}", "z: {type: string, +verb: example.com/z}", 1), webhook, "version v1, which is stored, has no permission example.com/z"},
		"another name, no webhook": {strings.Replace(schema, "a: {type: string, +verb: example.com/a}", "z: {type: string, +verb: example.com/z}", 1), nil, ""},
	} {
		crd := definition(t, tc.change, schema, tc.v2)
		got := validator().Warnings(crd, nil)
		if tc.want == "" && len(got) > 0 || tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)) {
			t.Errorf("%s: %q, wanted %q", name, got, tc.want)
		}
		if again := validator().Warnings(crd, crd); len(again) > 0 {
			t.Errorf("%s, again: %q", name, again)
		}
	}
}
