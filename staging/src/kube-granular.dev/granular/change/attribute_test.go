// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/schema"
)

const both = schema.Label | schema.Annotation

func (v Value) shown() string {
	switch {
	case !v.Present:
		return "-"
	case v.Unreadable:
		return "?"
	}
	return fmt.Sprintf("%q", v.Text)
}

// shownAttributes returns one line of text for each attribute, with its values, for comparison with
// the wanted lines.
func shownAttributes(s Attributes) []string {
	out := []string{}
	for i := range s {
		a := &s[i]
		line := a.Kind.String() + " " + a.String()
		if a.Unreadable {
			line += " unreadable"
		} else {
			line += " " + a.Old.shown() + " > " + a.New.shown()
		}
		if scopes := a.Scopes(); scopes != nil {
			line += " in " + strings.Join(scopes, " ")
		}
		if a.Embedded {
			line += " embedded"
		}
		out = append(out, line)
	}
	return out
}

var attributeTests = []struct {
	name, kind, old, new string
	want                 []string
	// plain is true if the kind's Go type can't represent the objects.
	plain bool
}{
	{name: "nothing", kind: "/v1/ConfigMap", old: `metadata: {labels: {a: x}}`,
		new: `{metadata: {labels: {a: x}}, data: {b: c}}`, want: []string{}},
	{name: "set, changed, removed", kind: "/v1/ConfigMap",
		old: `metadata: {labels: {a: x, b: x, c: x}}`, new: `metadata: {labels: {a: x, b: z, d: x}}`,
		want: []string{`Label .metadata.labels[b] "x" > "z"`, `Label .metadata.labels[c] "x" > -`,
			`Label .metadata.labels[d] - > "x"`}},
	{name: "a label is no annotation", kind: "/v1/ConfigMap",
		old: `metadata: {labels: {a: x}}`, new: `metadata: {annotations: {a: x}}`,
		want: []string{`Annotation .metadata.annotations[a] - > "x"`, `Label .metadata.labels[a] "x" > -`}},
	{name: "empty is not absent", kind: "/v1/ConfigMap", old: `metadata: {labels: {a: ""}}`, new: `metadata: {labels: {b: ""}}`,
		want: []string{`Label .metadata.labels[a] "" > -`, `Label .metadata.labels[b] - > ""`}},
	{name: "created", kind: "/v1/ConfigMap", new: `metadata: {labels: {a: x}, annotations: {b: ""}}`,
		want: []string{`Annotation .metadata.annotations[b] - > ""`, `Label .metadata.labels[a] - > "x"`}},
	{name: "created without any", kind: "/v1/ConfigMap", new: `data: {a: b}`, want: []string{}},
	{name: "nil and empty maps", kind: "/v1/ConfigMap", old: `metadata: {labels: {}}`,
		new: `metadata: {annotations: {}}`, want: []string{}},
	{name: "all removed with the map", kind: "/v1/ConfigMap", old: `metadata: {labels: {a: x}}`, new: `metadata: {}`,
		want: []string{`Label .metadata.labels[a] "x" > -`}},
	{name: "all removed with the metadata", kind: "/v1/ConfigMap", old: `metadata: {labels: {a: x}}`, new: `{}`,
		want: []string{`Label .metadata.labels[a] "x" > -`}},
	{name: "a key of any bytes", kind: "/v1/ConfigMap", new: `metadata: {labels: {"a/b/c d": x}}`,
		want: []string{`Label .metadata.labels["a/b/c d"] - > "x"`}},
	{name: "a pod template", kind: "apps/v1/Deployment",
		old:  `{metadata: {labels: {a: x}}, spec: {template: {metadata: {labels: {a: x}}}}}`,
		new:  `{metadata: {labels: {a: x}}, spec: {replicas: 2, template: {metadata: {labels: {a: w}}}}}`,
		want: []string{`Label .spec.template.metadata.labels[a] "x" > "w" in podTemplate`}},
	{name: "a template that goes", kind: "apps/v1/Deployment", old: `spec: {template: {metadata: {labels: {a: x}}}}`, new: `spec: {replicas: 2}`,
		want: []string{`Label .spec.template.metadata.labels[a] "x" > - in podTemplate`}},
	{name: "a selector is none", kind: "apps/v1/Deployment", new: `spec: {selector: {matchLabels: {a: x}}}`,
		want: []string{}},
	{name: "scopes in scopes", kind: "batch/v1/CronJob",
		new: `spec: {jobTemplate: {metadata: {labels: {a: x}}, spec: {template: {metadata: {annotations: {b: x}}, spec: {volumes: [{name: v, ephemeral: {volumeClaimTemplate: {metadata: {labels: {c: x}}, spec: {}}}}], containers: []}}}}}`,
		want: []string{
			`Label .spec.jobTemplate.metadata.labels[a] - > "x" in jobTemplate`,
			`Annotation .spec.jobTemplate.spec.template.metadata.annotations[b] - > "x" in jobTemplate podTemplate`,
			`Label .spec.jobTemplate.spec.template.spec.volumes[name="v"].ephemeral.volumeClaimTemplate.metadata.labels[c] - > "x" in jobTemplate podTemplate volumeClaimTemplate`,
		}},
	{name: "volumes by name", kind: "/v1/Pod",
		old:  `spec: {volumes: [{name: v, ephemeral: {volumeClaimTemplate: {metadata: {labels: {a: x}}, spec: {}}}}], containers: []}`,
		new:  `spec: {volumes: [{name: u}, {name: v, ephemeral: {volumeClaimTemplate: {metadata: {labels: {a: x}}, spec: {}}}}], containers: []}`,
		want: []string{}},
	{name: "the label of another volume", kind: "/v1/Pod",
		old: `spec: {volumes: [{name: u}, {name: v, ephemeral: {volumeClaimTemplate: {metadata: {labels: {a: x}}, spec: {}}}}], containers: []}`,
		new: `spec: {volumes: [{name: v}, {name: u, ephemeral: {volumeClaimTemplate: {metadata: {labels: {a: x}}, spec: {}}}}], containers: []}`,
		want: []string{
			`Label .spec.volumes[name="u"].ephemeral.volumeClaimTemplate.metadata.labels[a] - > "x" in volumeClaimTemplate`,
			`Label .spec.volumes[name="v"].ephemeral.volumeClaimTemplate.metadata.labels[a] "x" > - in volumeClaimTemplate`}},
	{name: "volumes of one name", kind: "/v1/Pod",
		old:  `spec: {volumes: [{name: v}], containers: []}`,
		new:  `spec: {volumes: [{name: v, ephemeral: {volumeClaimTemplate: {metadata: {labels: {a: x}}, spec: {}}}}, {name: v}], containers: []}`,
		want: []string{`Label .spec.volumes[*].ephemeral.volumeClaimTemplate.metadata.labels[a] - > "x" in volumeClaimTemplate`}},

	{name: "claims: inserted before", kind: "apps/v1/StatefulSet",
		old: claims("data=x"), new: claims("logs", "data=x"), want: []string{}},
	{name: "claims: inserted with the key", kind: "apps/v1/StatefulSet",
		old: claims("data=x"), new: claims("logs=x", "data=x"), want: []string{claimed("-", `"x"`)}},
	{name: "claims: the same again", kind: "apps/v1/StatefulSet",
		old: claims("data=x"), new: claims("data=x", "data=x"), want: []string{claimed("-", `"x"`)}},
	{name: "claims: reordered", kind: "apps/v1/StatefulSet",
		old: claims("data=x", "logs"), new: claims("logs", "data=x"), want: []string{}},
	{name: "claims: removed", kind: "apps/v1/StatefulSet",
		old: claims("data=x", "logs"), new: claims("logs"), want: []string{claimed(`"x"`, "-")}},
	{name: "claims: names exchanged", kind: "apps/v1/StatefulSet",
		old: claims("data=x", "logs"), new: claims("logs=x", "data"), want: []string{claimed("-", `"x"`), claimed(`"x"`, "-")}},
	{name: "claims: renamed", kind: "apps/v1/StatefulSet",
		old: claims("data=x"), new: claims("logs=x"), want: []string{claimed("-", `"x"`), claimed(`"x"`, "-")}},
	{name: "claims: the spec changes in place", kind: "apps/v1/StatefulSet",
		old: claims("data=x", "logs"), new: claims("data=x!", "logs!"), want: []string{}},
	{name: "claims: inserted before one whose spec changes", kind: "apps/v1/StatefulSet",
		old: claims("data=x"), new: claims("logs", "data=x!"), want: []string{}},
	{name: "claims: the value changes", kind: "apps/v1/StatefulSet",
		old: claims("data=x", "logs"), new: claims("logs", "data=w"), want: []string{claimed(`"x"`, `"w"`)}},
	{name: "claims: one name for several", kind: "apps/v1/StatefulSet",
		old: claims("data=x", "data", "end"), new: claims("data", "data=x", "end"), want: []string{claimed("-", `"x"`), claimed(`"x"`, "-")}},
	{name: "claims: several of one name, and one is left", kind: "apps/v1/StatefulSet",
		old: claims("data=x", "data=x"), new: claims("data=x!"), want: []string{claimed("-", `"x"`), claimed(`"x"`, "-")}},
	{name: "claims: without a name, in place", kind: "apps/v1/StatefulSet",
		old: claims("=x", "=w"), new: claims("=x!", "=w!"), want: []string{}},
	{name: "claims: without a name, exchanged", kind: "apps/v1/StatefulSet",
		old: claims("=x", ""), new: claims("", "=x"), want: []string{claimed("-", `"x"`), claimed(`"x"`, "-")}},
	{name: "claims: without a name, inserted before", kind: "apps/v1/StatefulSet",
		old: claims("=x", "=w"), new: claims("", "=x", "=w"), want: []string{}},

	{name: "custom: every container of templates", kind: "example.com/v1/Fleet", plain: true,
		old: `spec: {podLabels: {a: x}, template: {metadata: {labels: {a: x}}}, listed: [{metadata: {labels: {a: x}}}], named: [{name: one, metadata: {labels: {a: x}}}], mapped: {m: {metadata: {annotations: {a: x}}}}}`,
		new: `spec: {podLabels: {a: w}, template: {metadata: {labels: {a: w}}}, listed: [{metadata: {labels: {a: w}}}], named: [{name: one, metadata: {labels: {a: w}}}], mapped: {m: {metadata: {annotations: {a: w}}}}}`,
		want: []string{
			`Label .spec.listed[*].metadata.labels[a] "x" > "w" in example.com/vehicleTemplate`,
			`Annotation .spec.mapped[m].metadata.annotations[a] "x" > "w" in example.com/vehicleTemplate`,
			`Label .spec.named[name="one"].metadata.labels[a] "x" > "w" in example.com/vehicleTemplate`,
			`Label .spec.podLabels[a] "x" > "w"`,
			`Label .spec.template.metadata.labels[a] "x" > "w" in example.com/vehicleTemplate`}},
	{name: "custom: its own", kind: "example.com/v1/Fleet", plain: true, new: `metadata: {labels: {a: x}}`,
		want: []string{`Label .metadata.labels[a] - > "x"`}},
	{name: "malformed: a value", kind: "example.com/v1/Fleet", plain: true,
		old: `spec: {template: {metadata: {labels: {a: x, b: 5, c: 5}}}}`, new: `spec: {template: {metadata: {labels: {a: 5, b: x, c: 5, d: null}}}}`,
		want: []string{
			`Label .spec.template.metadata.labels[a] "x" > ? in example.com/vehicleTemplate`,
			`Label .spec.template.metadata.labels[b] ? > "x" in example.com/vehicleTemplate`,
			`Label .spec.template.metadata.labels[d] - > ? in example.com/vehicleTemplate`}},
	{name: "malformed: the labels", kind: "example.com/v1/Fleet", plain: true,
		old: `spec: {template: {metadata: {labels: {a: x}}}}`, new: `spec: {template: {metadata: {labels: [a]}}}`,
		want: []string{
			`Label .spec.template.metadata.labels unreadable in example.com/vehicleTemplate`,
			`Label .spec.template.metadata.labels[a] "x" > - in example.com/vehicleTemplate`}},
	{name: "malformed: they were", kind: "example.com/v1/Fleet", plain: true,
		old: `spec: {template: {metadata: {labels: [a]}}}`, new: `spec: {template: {metadata: {labels: {a: x}}}}`,
		want: []string{`Label .spec.template.metadata.labels[a] - > "x" in example.com/vehicleTemplate`}},
	{name: "malformed: they still are", kind: "example.com/v1/Fleet", plain: true,
		old: `spec: {template: {metadata: {labels: [a]}}}`, new: `spec: {size: 2, template: {engine: e, metadata: {labels: [a]}}}`, want: []string{}},
	{name: "malformed: the template", kind: "example.com/v1/Fleet", plain: true,
		old: `spec: {template: {metadata: {labels: {a: x}}}}`, new: `spec: {template: [{metadata: {labels: {b: x}}}]}`,
		want: []string{
			`Label .spec.template unreadable in example.com/vehicleTemplate`,
			`Annotation .spec.template unreadable in example.com/vehicleTemplate`,
			`Label .spec.template.metadata.labels[a] "x" > - in example.com/vehicleTemplate`}},
	{name: "malformed: the list", kind: "example.com/v1/Fleet", plain: true, old: `spec: {}`, new: `spec: {listed: {}}`,
		want: []string{`Label .spec.listed unreadable`, `Annotation .spec.listed unreadable`}},
	{name: "malformed: null is no template", kind: "example.com/v1/Fleet", plain: true, old: `spec: {}`,
		new: `spec: {listed: null, template: null}`, want: []string{}},
}

// claims returns a StatefulSet, as YAML, with one volumeClaimTemplate for each argument. The
// argument "n=x!" is a template with the name n, the label a with value x (if "=x" is given), and
// another spec (if "!" is given).
func claims(each ...string) string {
	out := "spec: {serviceName: s, volumeClaimTemplates: ["
	for i, one := range each {
		one, resized := strings.CutSuffix(one, "!")
		name, value, labelled := strings.Cut(one, "=")
		if i > 0 {
			out += ", "
		}
		out += "{metadata: {name: \"" + name + "\""
		if labelled {
			out += ", labels: {a: " + value + "}"
		}
		out += "}, spec: {"
		if resized {
			out += "volumeName: other"
		}
		out += "}}"
	}
	return out + "]}"
}

func claimed(old, new string) string {
	return "Label .spec.volumeClaimTemplates[*].metadata.labels[a] " + old + " > " + new + " in volumeClaimTemplate"
}

func TestAttributes(t *testing.T) {
	for _, test := range attributeTests {
		t.Run(test.name, func(t *testing.T) {
			w := walkerOf(t, test.kind)
			sides := map[string][2]any{"plain": {plainOf(t, test.old), plainOf(t, test.new)}}
			if !test.plain {
				sides["typed"] = [2]any{typedOf(t, test.kind, test.old), typedOf(t, test.kind, test.new)}
			}
			for name, side := range sides {
				got, err := w.Attributes(both, nil, side[0], side[1])
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, shownAttributes(got)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				for _, kind := range []schema.Attribute{schema.Label, schema.Annotation} {
					part, err := w.Attributes(kind, nil, side[0], side[1])
					if err != nil {
						t.Fatal(err)
					}
					var of Attributes
					for _, a := range got {
						if a.Kind == kind {
							of = append(of, a)
						}
					}
					if diff := cmp.Diff(shownAttributes(of), shownAttributes(part)); diff != "" {
						t.Errorf("%s alone, %s: %s", kind, name, diff)
					}
				}
			}
		})
	}
}

// TestAttributeOutline shows that Outline shows the key of an attribute, and no keys of elements on
// its path. It does not modify the attribute.
func TestAttributeOutline(t *testing.T) {
	a := Attribute{Kind: schema.Label,
		Path: Path{{Field: "list", Node: &schema.Node{Kind: schema.Set}}, {Keys: []string{"secret"}},
			{Field: "labels"}},
		Key: "env"}
	for range 2 {
		if full, outline := a.String(), a.Outline(); full != `.list["secret"].labels[env]` || outline != ".list[*].labels[env]" {
			t.Errorf("%s, %s", full, outline)
		}
	}
	a.Unreadable, a.Key = true, ""
	if full, outline := a.String(), a.Outline(); full != `.list["secret"].labels` || outline != ".list[*].labels" {
		t.Errorf("%s, %s", full, outline)
	}
}
