// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/schema"
)

func TestIntersectAttributes(t *testing.T) {
	labels := func(text string) string { return "metadata: {labels: {" + text + "}}" }
	for _, test := range []struct {
		name, kind, old string
		// caller is the object as the caller sent it, and final is the object about to be stored.
		caller, final string
		want          []string
	}{
		{"as the caller wants", "/v1/Pod", "{}", labels("env: dev"), labels("env: dev"),
			[]string{`Label .metadata.labels[env] - > "dev"`}},
		{"a webhook adds a key", "/v1/Pod", "{}", labels("a: b"), labels("a: b, env: prod"),
			[]string{`Label .metadata.labels[a] - > "b"`}},
		{"a webhook changes the value further", "/v1/Pod", labels("env: a"), labels("env: dev"), labels("env: prod"),
			[]string{`Label .metadata.labels[env] "a" > "dev"`, `Label .metadata.labels[env] "a" > "prod"`}},
		{"a webhook takes it back", "/v1/Pod", labels("env: a"), labels("env: dev"), labels("env: a"), []string{}},
		{"a webhook restores what the caller removes", "/v1/Pod", labels("env: a"), "{}", labels("env: a"), []string{}},
		{"a webhook replaces what the caller removes", "/v1/Pod", labels("env: a"), "{}", labels("env: b"),
			[]string{`Label .metadata.labels[env] "a" > -`, `Label .metadata.labels[env] "a" > "b"`}},
		{"a webhook removes what the caller changes", "/v1/Pod", labels("env: a"), labels("env: b"), "{}",
			[]string{`Label .metadata.labels[env] "a" > -`, `Label .metadata.labels[env] "a" > "b"`}},
		{"the caller leaves it alone", "/v1/Pod", labels("env: a"), labels("env: a, x: z"), labels("env: b, x: z"),
			[]string{`Label .metadata.labels[x] - > "z"`}},
		{"a label is no annotation", "/v1/Pod", "{}", labels("env: a"), "metadata: {annotations: {env: a}}",
			[]string{}},
		{"the object is no template", "apps/v1/Deployment", "{}", labels("env: a"),
			"spec: {template: {metadata: {labels: {env: a}}}}", []string{}},
		{"a webhook renames the volume", "/v1/Pod", "{}", volume("u", "env: prod"), volume("v", "env: prod"),
			[]string{
				`Label .spec.volumes[name="u"].ephemeral.volumeClaimTemplate.metadata.labels[env] - > "prod" in volumeClaimTemplate`,
				`Label .spec.volumes[name="v"].ephemeral.volumeClaimTemplate.metadata.labels[env] - > "prod" in volumeClaimTemplate`}},
		{"a webhook inserts a claim before", "apps/v1/StatefulSet", claims(), claims("data=x"),
			claims("logs", "data=x"), []string{claimed("-", `"x"`)}},
		{"a webhook inserts a claim with the key", "apps/v1/StatefulSet", claims(), claims("data"),
			claims("logs=x", "data"), []string{}},
		{"the caller can't be read", "example.com/v1/Fleet", "{}", "spec: {template: {metadata: {labels: [a]}}}", "spec: {template: {metadata: {labels: {env: prod}}}}",
			[]string{
				`Label .spec.template.metadata.labels unreadable in example.com/vehicleTemplate`,
				`Label .spec.template.metadata.labels[env] - > "prod" in example.com/vehicleTemplate`}},
		{"the caller's template can't be read", "example.com/v1/Fleet", "{}", "spec: {template: [a]}", "spec: {template: {metadata: {labels: {env: prod}}}}",
			[]string{
				`Label .spec.template unreadable in example.com/vehicleTemplate`,
				`Label .spec.template.metadata.labels[env] - > "prod" in example.com/vehicleTemplate`}},
		{"the webhook can't be read", "example.com/v1/Fleet", "{}", "spec: {template: {metadata: {labels: {env: prod}}}}", "spec: {template: [a]}",
			[]string{
				`Label .spec.template unreadable in example.com/vehicleTemplate`,
				`Label .spec.template.metadata.labels[env] - > "prod" in example.com/vehicleTemplate`}},
		{"another place can't be read", "example.com/v1/Fleet", "{}", "spec: {template: [a]}",
			"spec: {listed: [{metadata: {labels: {env: prod}}}]}", []string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := walkerOf(t, test.kind)
			compare := func(text string) Attributes {
				s, err := w.Attributes(both, nil, plainOf(t, test.old), plainOf(t, text))
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			got := shownAttributes(IntersectAttributes(compare(test.caller), compare(test.final)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestIntersectUnreadableElements checks that an unreadable location in one element of a list
// stands for everything below this location in any element of the list.
func TestIntersectUnreadableElements(t *testing.T) {
	at := func(element string, fields ...string) Path {
		p := Path{{Field: "list", Node: &schema.Node{Kind: schema.Set}}, {Keys: []string{element}}}
		for _, f := range fields {
			p = append(p, Step{Field: f})
		}
		return p
	}
	label := func(p Path, new string) Attribute {
		return Attribute{Kind: schema.Label, Path: p, Key: "env", New: Value{Text: new, Present: true}}
	}
	readable := Attributes{label(at("a", "z"), "prod"), label(at("b", "m"), "prod")}.normalize()
	for name, test := range map[string]struct {
		path Path
		want []string
	}{
		"the second": {at("c", "m"), []string{`Label .list["b"].m[env] - > "prod"`, `Label .list["c"].m unreadable`}},
		"the first":  {at("c", "z"), []string{`Label .list["a"].z[env] - > "prod"`, `Label .list["c"].z unreadable`}},
		"all": {at("c"),
			[]string{`Label .list["a"].z[env] - > "prod"`, `Label .list["b"].m[env] - > "prod"`,
				`Label .list["c"] unreadable`}},
		"another": {at("c", "k"), []string{}},
	} {
		unreadable := Attributes{{Kind: schema.Label, Path: test.path, Unreadable: true}}.normalize()
		for _, got := range []Attributes{IntersectAttributes(unreadable, readable), IntersectAttributes(readable, unreadable)} {
			if diff := cmp.Diff(test.want, shownAttributes(got)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

func volume(name, labels string) string {
	return "spec: {volumes: [{name: " + name + ", ephemeral: {volumeClaimTemplate: {metadata: {labels: {" + labels + "}}}}}]}"
}

func TestEmbedded(t *testing.T) {
	for _, test := range []struct {
		name, old, new string
		want           []string
	}{
		{"a revision", "", `{spec: {template: {$patch: replace, metadata: {labels: {env: prod}, annotations: {a: b}}}}}`, []string{
			`Annotation .data.spec.template.metadata.annotations[a] - > "b" embedded`,
			`Label .data.spec.template.metadata.labels[env] - > "prod" embedded`}},
		{"of any case", "", `{Spec: {Template: {METADATA: {Labels: {env: prod}, labels: {env: dev}}}}}`, []string{
			`Label .data.Spec.Template.METADATA.Labels[env] - > "prod" embedded`,
			`Label .data.Spec.Template.METADATA.labels[env] - > "dev" embedded`}},
		{"the same", `{metadata: {labels: {a: b}}}`, `{metadata: {labels: {a: b}}}`, []string{}},
		{"only beside it", `{x: 1, metadata: {labels: {a: b}}}`, `{x: 2, metadata: {labels: {a: b}}}`, []string{}},
		{"gone", `{metadata: {labels: {a: b}}}`, `{}`, []string{`Label .data.metadata.labels[a] "b" > - embedded`}},
		{"in a list", `[{metadata: {labels: {a: b}}}]`, `[{}, {metadata: {labels: {a: b}}}]`, []string{
			`Label .data[*].metadata.labels[a] "b" > - embedded`, `Label .data[*].metadata.labels[a] - > "b" embedded`}},
		{"nothing but other metadata", "", `{metadata: {name: a, ownerReferences: [{uid: b}], labels: null}}`,
			[]string{}},
		{"labels of no metadata", "", `{labels: {a: b}}`, []string{}},
		{"unreadable", "", `{metadata: {labels: [a], annotations: {a: 5}}}`, []string{
			`Annotation .data.metadata.annotations[a] - > ? embedded`, `Label .data.metadata.labels unreadable embedded`}},
		{"no object", "", `5`, []string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			decode := func(text string) any {
				m := plainOf(t, "data: "+text)
				return m["data"]
			}
			got := Embedded(both, nil, Path{{Field: "data"}}, decode(test.old), decode(test.new))
			if diff := cmp.Diff(test.want, shownAttributes(got)); diff != "" {
				t.Error(diff)
			}
			for _, kind := range []schema.Attribute{schema.Label, schema.Annotation} {
				var of Attributes
				for _, a := range got {
					if a.Kind == kind {
						of = append(of, a)
					}
				}
				part := Embedded(kind, nil, Path{{Field: "data"}}, decode(test.old), decode(test.new))
				if diff := cmp.Diff(shownAttributes(of), shownAttributes(part)); diff != "" {
					t.Errorf("%s alone: %s", kind, diff)
				}
			}
		})
	}
}

func TestNoAllocationsWithoutChangedAttribute(t *testing.T) {
	pods, widgets := walkerOf(t, "/v1/Pod"), walkerOf(t, "example.com/v1/Widget")
	a, b := bigPod(), bigPod()
	b.Spec.NodeName, b.Status.Phase = "other", "Running"
	x, y := bigWidget(), bigWidget()
	y["spec"].(map[string]any)["size"] = int64(2)
	for name, run := range map[string]func() Attributes{
		"pod":    func() Attributes { s, _ := pods.Attributes(both, nil, a, b); return s },
		"widget": func() Attributes { s, _ := widgets.Attributes(both, nil, x, y); return s },
	} {
		run() // compiles the plan, and puts a walk into the pool
		if set := run(); set != nil {
			t.Fatalf("%s: %v", name, shownAttributes(set))
		}
		if n := testing.AllocsPerRun(100, func() { run() }); n > 0 && !raceDetector {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
