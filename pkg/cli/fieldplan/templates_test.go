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
		"a specification": {entries("pods", ".spec.hostNetwork"), 9, []string{"rollouts.list.example.com in .roles[*].spec.template",
			"rollouts.map.example.com in .roles[*].spec.template", "rollouts.pods.example.com in .spec.template"}},
		"other metadata":    {entries("pods", ".metadata.ownerReferences"), 0, nil},
		"another resource":  {entries("services", ".spec.type"), 0, nil},
		"a kind with a pod": {entries("deployments.apps", ".spec.template.spec.hostNetwork"), 0, nil},
	} {
		p := &Plan{FieldPermission: tc.entries.Source}
		p.addTemplates(tc.entries)
		if tc.templates > 0 {
			p.shape = &shape{pod: true}
		}
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

// TestTemplatesOfAnyKind checks which custom resources look as if they contained the specification of a kind that is no pod: they
// have an excluded field and most other fields. A resource that keeps objects without a schema may contain it.
//
// Attack: a closed field of an Application is set in an ApplicationSet, whose operator makes Applications with all verbs
// Answer: open; the plan names the custom resources with such a template
func TestTemplatesOfAnyKind(t *testing.T) {
	const template = `destination: {properties: {server: {type: string}}}, project: {type: string}, source: {type: object}`
	at := func(text string) string {
		return `{properties: {spec: {properties: {template: {properties: {spec: ` + text + `}}}}}}`
	}
	for name, tc := range map[string]struct{ schema, held, unseen string }{
		"the specification":       {schema: at(`{properties: {` + template + `}}`), held: "sets.example.com in .spec.template.spec"},
		"most of it":              {schema: at(`{properties: {destination: {properties: {server: {}}}, source: {}}}`), held: "sets.example.com in .spec.template.spec"},
		"in a list":               {schema: `{properties: {parts: {items: {properties: {` + template + `}}}}}`, held: "sets.example.com in .parts[*]"},
		"in a map":                {schema: `{properties: {parts: {additionalProperties: {properties: {` + template + `}}}}}`, held: "sets.example.com in .parts[*]"},
		"the field has no schema": {schema: at(`{properties: {destination: {x-kubernetes-preserve-unknown-fields: true}, project: {}}}`), held: "sets.example.com in .spec.template.spec"},
		"without the field":       {schema: at(`{properties: {project: {}, source: {}, destination: {properties: {name: {}}}}}`)},
		"only the field":          {schema: at(`{properties: {destination: {properties: {server: {}}}}}`)},
		"at the root":             {schema: `{properties: {` + template + `}}`},
		"a template unseen":       {schema: `{properties: {spec: {properties: {template: {x-kubernetes-preserve-unknown-fields: true}}}}}`, unseen: "sets.example.com in .spec.template"},
		"templates unseen":        {schema: `{properties: {resourceTemplates: {items: {x-kubernetes-preserve-unknown-fields: true}}}}`, unseen: "sets.example.com in .resourceTemplates[*]"},
		"an object unseen":        {schema: `{properties: {base: {x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`, unseen: "sets.example.com in .base"},
		"values":                  {schema: `{properties: {values: {x-kubernetes-preserve-unknown-fields: true}}}`},
	} {
		root := &apiextensionsv1.JSONSchemaProps{}
		if err := yaml.UnmarshalStrict([]byte(tc.schema), root); err != nil {
			t.Fatal(name, err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Spec.Group, crd.Spec.Names.Plural = "example.com", "sets"
		crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Served: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root}}}
		closed, err := overlay.ParsePath(".destination.server")
		if err != nil {
			t.Fatal(err)
		}
		like := func() *shape {
			return &shape{fields: []string{"destination", "project", "source", "syncPolicy"}, closed: []overlay.Path{closed}}
		}
		p := &Plan{FieldPermission: "applications.argoproj.io", shape: like()}
		p.AddDefinition(crd)
		if held, unseen := strings.Join(p.NotHeldIn, " "), strings.Join(p.NotSeenIn, " "); held != tc.held || unseen != tc.unseen {
			t.Errorf("%s: not held %q, not seen %q", name, held, unseen)
		}
		var out bytes.Buffer
		p.printNotes(printing.NewPage(&out, false))
		if told := strings.Contains(out.String(), "sets.example.com"); told != (tc.held+tc.unseen != "") {
			t.Errorf("%s: %s", name, out.String())
		}
		for what, other := range map[string]*Plan{
			"its own definition": {FieldPermission: "sets.example.com", shape: like()}, "no exclusion in it": {FieldPermission: "applications.argoproj.io"},
		} {
			other.AddDefinition(crd)
			if len(other.NotHeldIn)+len(other.NotSeenIn) > 0 {
				t.Errorf("%s: %s: %q %q", name, what, other.NotHeldIn, other.NotSeenIn)
			}
		}
	}
}
