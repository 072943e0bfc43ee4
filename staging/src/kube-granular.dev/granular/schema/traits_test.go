// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/internal/testmodels"
	"kube-granular.dev/granular/schema"
)

// attributes lists every place with keys of labels or annotations, and the scopes that contain it.
func attributes(tree *schema.Tree) []string {
	var out []string
	for place := range tree.NodePaths() {
		if place.Node().Attribute() == 0 {
			continue
		}
		line := place.Node().Attribute().String() + " " + place.Pattern()
		for _, n := range place {
			if scope := n.Scope(); scope != "" {
				line += " " + scope
			}
		}
		out = append(out, line)
	}
	return out
}

func TestAttributesOfKinds(t *testing.T) {
	own := []string{"Annotation .metadata.annotations", "Label .metadata.labels"}
	for kind, want := range map[string][]string{
		"/v1/ConfigMap": own,
		"/v1/Pod": append(own[:2:2],
			"Annotation .spec.volumes[*].ephemeral.volumeClaimTemplate.metadata.annotations volumeClaimTemplate",
			"Label .spec.volumes[*].ephemeral.volumeClaimTemplate.metadata.labels volumeClaimTemplate"),
		"batch/v1/CronJob": append(own[:2:2],
			"Annotation .spec.jobTemplate.metadata.annotations jobTemplate",
			"Label .spec.jobTemplate.metadata.labels jobTemplate",
			"Annotation .spec.jobTemplate.spec.template.metadata.annotations jobTemplate podTemplate",
			"Label .spec.jobTemplate.spec.template.metadata.labels jobTemplate podTemplate",
			"Annotation .spec.jobTemplate.spec.template.spec.volumes[*].ephemeral.volumeClaimTemplate.metadata.annotations jobTemplate podTemplate volumeClaimTemplate",
			"Label .spec.jobTemplate.spec.template.spec.volumes[*].ephemeral.volumeClaimTemplate.metadata.labels jobTemplate podTemplate volumeClaimTemplate"),
		"example.com/v1/Fleet": append(own[:2:2],
			"Annotation .spec.listed[*].metadata.annotations example.com/vehicleTemplate",
			"Label .spec.listed[*].metadata.labels example.com/vehicleTemplate",
			"Annotation .spec.mapped[*].metadata.annotations example.com/vehicleTemplate",
			"Label .spec.mapped[*].metadata.labels example.com/vehicleTemplate",
			"Annotation .spec.named[*].metadata.annotations example.com/vehicleTemplate",
			"Label .spec.named[*].metadata.labels example.com/vehicleTemplate",
			"Label .spec.podLabels",
			"Annotation .spec.template.metadata.annotations example.com/vehicleTemplate",
			"Label .spec.template.metadata.labels example.com/vehicleTemplate"),
	} {
		t.Run(kind, func(t *testing.T) {
			part := strings.Split(kind, "/")
			tree, err := testmodels.Tree(part[0], part[1], part[2])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, attributes(tree)); diff != "" {
				t.Error(diff)
			}
			if got := tree.Root.Attributes(); got != schema.Label|schema.Annotation {
				t.Errorf("below the root: %s", got)
			}
		})
	}
}

func TestWhatIsAnAttribute(t *testing.T) {
	for _, test := range []struct{ name, schema, want string }{
		{"labels", `{type: object, +parameter-source: label-key, additionalProperties: {type: string}}`, "Label .a"},
		{"annotations", `{type: object, +parameter-source: annotation-key, additionalProperties: {type: string}}`,
			"Annotation .a"},
		{"with a permission for all",
			`{type: object, +verb: example.com/x, +parameter-source: label-key, additionalProperties: {type: string}}`,
			"Label .a"},
		{"with one for each",
			`{type: object, +parameter-source: label-key, additionalProperties: {type: string, +verb: example.com/x, +parameterized-by: label-key}}`,
			"Label .a"},
		{"of values nobody describes", `{type: object, +parameter-source: label-key}`, "Label .a"},
		{"of no type", `{+parameter-source: label-key}`, "Label .a"},
		{"another source", `{type: object, +parameter-source: labels, additionalProperties: {type: string}}`, ""},
		{"no text", `{type: object, +parameter-source: 5, additionalProperties: {type: string}}`, ""},
		{"a scalar", `{type: string, +parameter-source: label-key}`, ""},
		{"a set", `{type: array, +list: set, +parameter-source: label-key, items: {type: string}}`, ""},
		{"items of no type", `{+parameter-source: label-key, items: {type: string}}`, ""},
		{"numbers", `{type: object, +parameter-source: label-key, additionalProperties: {type: integer}}`, ""},
		{"objects", `{type: object, +parameter-source: label-key, additionalProperties: {type: object}}`, ""},
		{"the key of a list",
			`{type: array, +list: map, +keys: [k], items: {type: object, properties: {k: {type: string, +parameter-source: label-key}, v: {type: string, +verb: example.com/x, +parameterized-by: label-key}}}}`,
			""},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree, err := schema.Compile(definitionsOf(t, "root: {properties: {a: "+test.schema+"}}"), "root")
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(attributes(tree), ", "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if below := tree.Root.Attributes() != 0; below != (test.want != "") {
				t.Errorf("below the root: %s", tree.Root.Attributes())
			}
		})
	}
}

// TestInternerTellsAttributesApart checks that two nodes are different if they differ only in the
// kind of their keys, or in whether a scope begins there.
func TestInternerTellsAttributesApart(t *testing.T) {
	const text = `
root:
  properties:
    one: {properties: {a: {type: object, +parameter-source: label-key, +verb: v}}}
    two: {properties: {a: {type: object, +parameter-source: annotation-key, +verb: v}}}
    three: {properties: {a: {type: object, +verb: v}}}
    s: {properties: {a: {type: object, +verb: s}}}
    t: {properties: {a: {type: object, +scope: s}}}
`
	tree, err := schema.Compile(definitionsOf(t, text), "root")
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]schema.Attribute{"one": schema.Label, "two": schema.Annotation, "three": 0} {
		n := tree.Root.Child(field)
		if got := n.Child("a").Attribute(); got != want || n.Attributes() != want {
			t.Errorf("%s: %s, and %s below, want %s", field, got, n.Attributes(), want)
		}
	}
	if plain, scope := tree.Root.Child("s").Child("a").Scope(), tree.Root.Child("t").Child("a").Scope(); plain != "" || scope != "s" {
		t.Errorf("scopes %q and %q", plain, scope)
	}
}

func TestReservedPermissions(t *testing.T) {
	for name, text := range map[string]string{
		"verb":             `{properties: {a: {+verb: protectedLabel}}}`,
		"other verb":       `{properties: {a: {+verb: protectedAnnotation}}}`,
		"scope":            `{properties: {a: {+scope: protectedLabel}}}`,
		"in a scope":       `{properties: {a: {+scope: protected, properties: {b: {+verb: label}}}}}`,
		"with a parameter": `{properties: {a: {+parameter-source: k, additionalProperties: {+verb: protectedLabel, +parameterized-by: k}}}}`,
	} {
		_, err := schema.Compile(definitionsOf(t, "root: "+text), "root")
		if err == nil || !strings.Contains(err.Error(), "is reserved: it does not stand for a field") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"of a domain": `{properties: {a: {+verb: example.com/protectedLabel}}}`,
		"longer":      `{properties: {a: {+verb: protectedLabels}}}`,
		"in a scope":  `{properties: {a: {+scope: pod, properties: {b: {+verb: protectedLabel}}}}}`,
	} {
		if _, err := schema.Compile(definitionsOf(t, "root: "+text), "root"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
