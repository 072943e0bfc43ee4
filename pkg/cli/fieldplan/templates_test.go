// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldplan

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/granular/overlay"
)

// TestTemplates checks which plans say that the entries hold in pod templates, and which custom resources they name as
// not held.
func TestTemplates(t *testing.T) {
	entries := func(source, path string) *overlay.Entries {
		parsed, err := overlay.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		return &overlay.Entries{Source: source, Version: "v1", Fields: []overlay.Field{{Path: parsed, Permission: "example.com/a", Excluded: true}}}
	}
	crd := func(group, schema string) *apiextensionsv1.CustomResourceDefinition {
		out := &apiextensionsv1.CustomResourceDefinition{}
		out.Spec.Group, out.Spec.Names.Plural = group, "rollouts"
		root := &apiextensionsv1.JSONSchemaProps{}
		if err := yaml.UnmarshalStrict([]byte(schema), root); err != nil {
			t.Fatal(err)
		}
		out.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Served: true},
			{Served: !strings.HasPrefix(group, "unserved"), Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root}}}
		return out
	}
	const pods = `{properties: {spec: {properties: {template: {properties: {containers: {items: {properties: {image: {type: string}}}}}}}}}}`
	definitions := []*apiextensionsv1.CustomResourceDefinition{
		crd("pods.example.com", pods), crd("unserved.example.com", pods),
		crd("list.example.com", `{properties: {roles: {items: `+pods+`}}}`), crd("map.example.com", `{properties: {roles: {additionalProperties: `+pods+`}}}`),
		crd("other.example.com", `{properties: {containers: {items: {properties: {name: {type: string}}}}}}`),
		crd("scalar.example.com", `{properties: {containers: {type: string}, image: {type: string}}}`), crd("empty.example.com", `{}`),
	}
	for name, tc := range map[string]struct {
		entries   *overlay.Entries
		templates int
		notHeld   []string
	}{
		"a specification":   {entries("pods", ".spec.hostNetwork"), 9, []string{"rollouts.list.example.com", "rollouts.map.example.com", "rollouts.pods.example.com"}},
		"other metadata":    {entries("pods", ".metadata.ownerReferences"), 0, nil},
		"another resource":  {entries("services", ".spec.type"), 0, nil},
		"a kind with a pod": {entries("deployments.apps", ".spec.template.spec.hostNetwork"), 0, nil},
	} {
		p := &Plan{}
		p.addTemplates(tc.entries)
		for _, d := range definitions {
			p.AddDefinition(d)
		}
		if len(p.Templates) != tc.templates || !slices.Equal(p.NotHeldIn, tc.notHeld) {
			t.Errorf("%s: %q, not held %q", name, p.Templates, p.NotHeldIn)
		}
		var out bytes.Buffer
		p.printNotes(printing.NewPage(&out, false))
		if text := out.String(); strings.Contains(text, "cronjobs.batch") != (tc.templates > 0) || strings.Contains(text, "rollouts.map.example.com") != (tc.notHeld != nil) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
