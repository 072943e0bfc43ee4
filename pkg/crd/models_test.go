// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/expression"
)

var thing = gvk.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

// served returns the models that the server makes of version v1 of a definition.
func served(t testing.TB, crd *apiextensions.CustomResourceDefinition) map[string]*spec.Schema {
	t.Helper()
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	if err := scheme.Convert(crd, v1, nil); err != nil {
		t.Fatal(err)
	}
	openapi, err := builder.BuildOpenAPIV3(v1, "v1", builder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return openapi.Components.Schemas
}

// TestSameTreeAsServed checks that the permission tree that validation compiles is the tree that
// the server enforces later.
func TestSameTreeAsServed(t *testing.T) {
	for _, test := range []struct{ name, schema string }{
		{"plain", `properties: {a: {type: string, +verb: a}}`},
		{"default", `properties: {a: {type: string, default: x, +verb: a, +excluded: true}}`},
		{"own metadata",
			`properties: {metadata: {type: object, properties: {name: {type: string, maxLength: 3}}}, a: {type: object, properties: {metadata: {type: object, +verb: a}}}}`},
		{"embedded resource",
			`properties: {a: {type: object, +scope: cell, +embedded: true, +preserve: true, properties: {kind: {type: string}, metadata: {type: object}, spec: {type: object, +verb: specification}}}}`},
		{"embedded resource without scope",
			`properties: {a: {type: object, +verb: cell, +embedded: true, +preserve: true}}`},
		{"int or string", `properties: {a: {x-kubernetes-int-or-string: true, +verb: a}}`},
		{"int or string, spelled out",
			`properties: {a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], +verb: a}}`},
		{"nullable",
			`properties: {a: {type: object, nullable: true, +verb: a, properties: {b: {type: string, nullable: true, +verb: b}}}}`},
		{"unknown fields",
			`{+preserve: true, properties: {a: {+preserve: true, +verb: a, type: object, properties: {b: {type: string, +verb: b}}}}}`},
		{"allOf",
			`properties: {a: {type: object, allOf: [{required: [b]}, {properties: {b: {minLength: 1}}}], properties: {b: {type: string, +verb: b}}}}`},
		{"map of maps",
			`properties: {a: {type: object, +parameter-source: k, additionalProperties: {type: object, +verb: a, +parameterized-by: k, additionalProperties: {type: string, +verb: b}}}}`},
		{"list-map",
			`properties: {a: {type: array, +list: map, +keys: [k, l], items: {type: object, required: [k, l], properties: {k: {type: string, +parameter-source: k}, l: {type: string, default: x}, v: {type: string, +verb: v, +parameterized-by: k, +parameter-expression: "self.lowerAscii()"}}}}}`},
		{"set", `properties: {a: {type: array, +list: set, items: {type: string, +verb: a}}}`},
		{"atomic list",
			`properties: {a: {type: array, +verb: as, items: {type: object, properties: {b: {type: string, +verb: a}}}}}`},
		{"list-map with a default key and nothing in it",
			`properties: {a: {type: array, +list: map, +keys: [k, l], items: {type: object, +verb: v, required: [k], properties: {k: {type: string}, l: {type: string, default: x}, m: {type: string}}}}}`},
		{"set without a permission of its elements",
			`properties: {a: {type: array, +verb: as, +list: set, items: {type: string}}}`},
		{"none, and permissions",
			`{+verb: none, properties: {spec: {type: object, properties: {arm: {type: string, +verb: example.com/arm}}}}}`},
		{"a status beside permissions",
			`properties: {spec: {type: object, properties: {arm: {type: string, +verb: example.com/arm}}}, status: {type: object}}`},
		{"atomic map",
			`properties: {a: {type: object, x-kubernetes-map-type: atomic, properties: {b: {type: string, +verb: a}}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			crd := definition(t, nil, test.schema)
			judged, err := validator().compile(prune(crd.Spec.Validation.OpenAPIV3Schema))
			if err != nil {
				t.Fatal(err)
			}
			enforced, err := schema.NewModels(served(t, crd), schema.WithExpressions(expression.Stored())).ByKind(thing)
			if err != nil {
				t.Fatal(err)
			}
			enforced.Name = judged.Name
			if n := len(enforced.Root.Child("metadata").Fields()); n < 4 {
				t.Errorf("only %d fields of the metadata have permissions", n)
			}
			if diff := cmp.Diff(enforced.String(), judged.String()); diff != "" {
				t.Errorf("(-served +judged):\n%s", diff)
			}
		})
	}
}

// large returns a schema of the size and shape that operators use: groups of settings, each group
// with a permission, and many fields without one.
func large(groups, fields int) string {
	var b strings.Builder
	b.WriteString("properties: {spec: {type: object, +verb: specification, properties: {")
	for g := range groups {
		fmt.Fprintf(&b, "group%d: {type: object, +verb: example.com/group%d, properties: {", g, g)
		for f := range fields {
			fmt.Fprintf(&b, "field%d: {type: object, description: %s, properties: {a: {type: string, pattern: '^[a-z]+$'}, b: {type: array, items: {type: integer}}, c: {type: object, additionalProperties: {type: string}}}}, ",
				f, strings.Repeat("word ", 30))
		}
		b.WriteString("}}, ")
	}
	b.WriteString("}}, status: {type: object, +verb: status, properties: {conditions: {type: array, +list: map, +keys: [type], +verb: conditions, items: {type: object, required: [type], properties: {type: {type: string, +parameter-source: t}, status: {type: string}}, +verb: condition, +parameterized-by: t}}}}}")
	return b.String()
}

func size(t testing.TB, crd *apiextensions.CustomResourceDefinition) int {
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	if err := scheme.Convert(crd, v1, nil); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v1)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

// BenchmarkCompile compiles the permission trees of many definitions, as the server does on the
// first write to each kind. The trees share equal nodes through one interner, but each definition
// has permissions of its own. The models are not kept. The benchmark also reports how much memory
// a tree holds, and in percent of the definition's JSON.
func BenchmarkCompile(b *testing.B) {
	for _, shape := range []struct {
		name                  string
		groups, fields, trees int
	}{{"20KB", 4, 14, 50}, {"100KB", 8, 36, 20}, {"500KB", 10, 145, 8}} {
		b.Run(shape.name, func(b *testing.B) {
			stored, bytes := expression.Stored(), 0
			all := make([]map[string]*spec.Schema, shape.trees)
			for i := range all {
				crd := definition(b, nil, strings.ReplaceAll(large(shape.groups, shape.fields), "example.com/group", fmt.Sprintf("example.com/d%dGroup", i)))
				all[i], bytes = served(b, crd), size(b, crd)
			}
			compile := func(i int, sharing *schema.Interner) *schema.Tree {
				source := schema.WithSource(func() map[string]*spec.Schema { return all[i] })
				tree, err := schema.NewModels(all[i], schema.WithExpressions(stored), schema.WithInterner(sharing), source).ByKind(thing)
				if err != nil {
					b.Fatal(err)
				}
				return tree
			}
			b.ReportAllocs()
			sharing, next := schema.NewInterner(), 0
			for b.Loop() {
				compile(next%len(all), sharing)
				next++
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/tree")
			held := make([]*schema.Tree, len(all))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&before)
			sharing = schema.NewInterner()
			for i := range held {
				held[i] = compile(i, sharing)
			}
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
			one := float64(after.HeapAlloc-before.HeapAlloc) / float64(len(held))
			runtime.KeepAlive(held)
			runtime.KeepAlive(sharing)
			runtime.KeepAlive(all)
			b.ReportMetric(one, "B/tree")
			b.ReportMetric(100*one/float64(bytes), "%JSON")
			b.ReportMetric(float64(bytes), "B/JSON")
		})
	}
}

// TestModelsComeOutTheSame checks that the models of one definition are equal whenever they are
// made. Trees that do not keep their models rely on that.
func TestModelsComeOutTheSame(t *testing.T) {
	crd := definition(t, nil, large(2, 3), `properties: {a: {type: string, default: x, +verb: a, +excluded: true}}`)
	first := served(t, crd)
	for range 3 {
		if diff := cmp.Diff(first, served(t, crd), cmp.Comparer(func(a, b spec.Ref) bool { return a.String() == b.String() })); diff != "" {
			t.Fatalf("(-first +again):\n%s", diff)
		}
	}
}

// BenchmarkModels makes the models of a definition of 20 KB. That is the extra cost of a message
// whose path needs the models again.
func BenchmarkModels(b *testing.B) {
	crd := definition(b, nil, large(4, 14))
	b.ReportAllocs()
	for b.Loop() {
		served(b, crd)
	}
}

// BenchmarkValidate validates a definition of about the maximum size of a request.
func BenchmarkValidate(b *testing.B) {
	crd := definition(b, nil, large(100, 87))
	b.ReportMetric(float64(size(b, crd)), "B/JSON")
	v := validator()
	for b.Loop() {
		if errs := v.Validate(crd, nil); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
