// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// TestWalk checks, for each shape that the schema of a custom resource may have, which
// permissions a granular request needs for a change, the most specific permission first.
func TestWalk(t *testing.T) {
	const metadata = "metadata: {name: x}\n"
	for _, test := range []struct {
		name, schema string
		// Each element of changes is an object before and after the change, and the permissions
		// that are charged.
		changes [][3]string
	}{
		{"int or string", `properties: {a: {x-kubernetes-int-or-string: true, +verb: a}}`, [][3]string{
			{`a: 1`, `a: 1`, ``},
			{`a: 1`, `a: "1"`, `a .a`},
			{`a: 50%`, ``, `a .a`},
		}},
		{"nullable", `properties: {a: {type: object, nullable: true, +verb: a, properties: {b: {type: string, nullable: true, +verb: b}, c: {type: string}}}}`, [][3]string{
			{`a: null`, ``, `a .a *`},
			{`a: {b: null}`, `a: {}`, `b .a.b`},
			{`a: null`, `a: {c: x}`, `a .a`},
			{`a: null`, `a: {b: x}`, `b .a.b`},
			{`a: {b: x}`, `a: {b: y}`, `b .a.b`},
		}},
		{"unknown fields", `{+preserve: true, properties: {a: {type: object, +preserve: true, +verb: a, properties: {b: {type: string, +verb: b}}}}}`, [][3]string{
			{`a: {z: {y: [1]}}`, `a: {z: {y: [2]}}`, `a .a`},
			{`a: {b: x, z: 1}`, `a: {b: y, z: 1}`, `b .a.b`},
			{`a: {b: x, z: 1}`, `a: {b: y, z: 2}`, `a .a, b .a.b`},
			{`z: 1`, `z: 2`, `- .z`},
		}},
		{"embedded resource", `properties: {a: {type: object, +scope: cell, +embedded: true, +preserve: true, properties: {spec: {type: object, +preserve: true, +verb: specification}}}}`, [][3]string{
			{`a: {metadata: {labels: {x/l: "1"}}}`, `a: {metadata: {labels: {x/l: "2"}}}`,
				`cellLabel(x) .a.metadata.labels[x/l]`},
			{`a: {kind: K}`, `a: {kind: L}`, `cell .a`},
			{`a: {spec: {x: 1}}`, `a: {spec: {x: 2}}`, `cellSpecification .a.spec`},
			{`a: {data: 1}`, `a: {data: 2}`, `cell .a`},
		}},
		{"map", `properties: {a: {type: object, +verb: as, +parameter-source: k, additionalProperties: {type: string, +verb: a, +parameterized-by: k}}}`, [][3]string{
			{`a: {x: "1", q: "1"}`, `a: {x: "2", q: "1"}`, `a(x) .a[x]`},
			{`a: {x: "1"}`, `a: {q: "1"}`, `a(q) .a[q], a(x) .a[x]`},
			{`a: {}`, ``, `as .a *`},
		}},
		{"list-map", `properties: {a: {type: array, +list: map, +keys: [k], +parameter-source: k, items: {type: object, required: [k], +verb: a, +parameterized-by: k, properties: {k: {type: string}, v: {type: integer}}}}}`, [][3]string{
			{`a: [{k: x, v: 1}, {k: q, v: 1}]`, `a: [{k: q, v: 1}, {k: x, v: 1}]`, ``},
			{`a: [{k: x, v: 1}, {k: q, v: 1}]`, `a: [{k: q, v: 2}, {k: x, v: 1}]`, `a(q) .a[k="q"]`},
			{`a: [{k: x}]`, `a: []`, `a(x) .a[k="x"]`},
		}},
		{"set", `properties: {a: {type: array, +list: set, +parameter-source: k, items: {type: string, +verb: a, +parameterized-by: k}}}`, [][3]string{
			{`a: [x, y]`, `a: [y, x]`, ``},
			{`a: [x, y]`, `a: [y, z]`, `a(x) .a["x"], a(z) .a["z"]`},
		}},
		{"atomic list", `properties: {a: {type: array, +verb: as, items: {type: object, properties: {b: {type: string, +verb: b}}}}}`, [][3]string{
			{`a: [{b: x}]`, `a: [{b: y}]`, `b .a[*].b`},
		}},
		{"atomic map", `properties: {a: {type: object, x-kubernetes-map-type: atomic, +verb: a, properties: {b: {type: string, +verb: b}}}}`, [][3]string{
			{`a: {b: x}`, `a: {b: y}`, `b .a.b`},
		}},
		{"allOf", `properties: {a: {type: object, +verb: a, allOf: [{required: [b]}, {properties: {b: {minLength: 1}}}], properties: {b: {type: string, +verb: b}}}}`, [][3]string{
			{`a: {b: x}`, `a: {b: y}`, `b .a.b`},
		}},
		{"expression", `properties: {a: {type: object, +parameter-source: k, additionalProperties: {type: string, +verb: a, +parameterized-by: k, +parameter-expression: "self.split('-')[1]"}}}`, [][3]string{
			{`a: {x-1: "1"}`, `a: {x-1: "2"}`, `a(1) .a[x-1]`},
			{`a: {x: "1"}`, `a: {x: "2"}`, `? .a[x]`},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree, err := validator().compile(definition(t, nil, test.schema).Spec.Validation.OpenAPIV3Schema)
			if err != nil {
				t.Fatal(err)
			}
			walker := change.NewWalker(tree)
			for _, pair := range test.changes {
				set, err := walker.Compare(change.All, parsed(t, metadata+pair[0]), parsed(t, metadata+pair[1]))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(pair[2], charged(set)); diff != "" {
					t.Errorf("%s -> %s (-want +got):\n%s", pair[0], pair[1], diff)
				}
			}
		})
	}
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func charged(set change.Set) string {
	var out []string
	for i := range set {
		c := &set[i]
		verb := "-"
		if last := c.Node.Last(); last != nil {
			v, err := c.Verb(context.Background(), schema.NewCostBudget(1_000_000), last)
			if verb = strings.TrimPrefix(v.String(), "granular:"); err != nil {
				verb = "?"
			}
		}
		out = append(out, verb+" "+c.String())
	}
	return strings.Join(out, ", ")
}
