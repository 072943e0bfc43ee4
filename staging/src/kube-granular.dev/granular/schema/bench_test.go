// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package schema_test

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/internal/testmodels"
	"kube-granular.dev/granular/schema"
)

// customResource returns the definitions that a server has for one custom resource of a usual size
// and shape, about 20 KB of JSON: groups of settings, and a status with conditions. If marked is
// set, it has permissions that other kinds have too, one permission of its own, and an excluded
// one.
func customResource(t testing.TB, number int, marked bool) map[string]*spec.Schema {
	var b strings.Builder
	fmt.Fprintf(&b, `root:
  x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Kind%d}]
  properties:
    metadata: {$ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    status: {type: object, +verb: status, properties: {observed: {type: integer}, conditions: {type: array, +list: map, +keys: [type], +verb: conditions, items: {type: object, properties: {type: {type: string, +parameter-source: condition-type}, status: {type: string}}, +verb: condition, +parameterized-by: condition-type}}}}
    spec:
      type: object
      +verb: specification
      properties:
        replicas: {type: integer, +verb: replicas}
        own%d: {type: string, +verb: example.com/own%d}
        guard%d: {type: string, +verb: example.com/guard%d, +excluded: true}
`, number, number, number, number, number)
	for g := range 4 {
		fmt.Fprintf(&b, "        group%d:\n          type: object\n          properties:\n", g)
		for f := range 14 {
			fmt.Fprintf(&b, "            field%d: {type: object, description: %s, properties: {a: {type: string}, b: {type: array, items: {type: integer}}, c: {type: object, additionalProperties: {type: string}}}}\n", f, strings.Repeat("word ", 30))
		}
	}
	text := b.String()
	if !marked {
		for _, mark := range []string{"      +verb: specification\n", "+verb: status, ", "+verb: conditions, ", ", +verb: condition, +parameterized-by: condition-type", ", +parameter-source: condition-type", ", +verb: replicas"} {
			text = strings.ReplaceAll(text, mark, "")
		}
		text = strings.ReplaceAll(text, fmt.Sprintf(", +verb: example.com/own%d", number), "")
		text = strings.ReplaceAll(text, fmt.Sprintf(", +verb: example.com/guard%d, +excluded: true", number), "")
	}
	common, err := testmodels.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	out := definitionsOf(t, text)
	for name, d := range common {
		if strings.HasPrefix(name, "io.k8s.apimachinery.") {
			out[name] = d
		}
	}
	return out
}

// BenchmarkCustomResources compiles the trees of many custom resources, each from its own models
// as the server does. It reports the cost of a tree and its walker in comparison with the models.
// With two versions, each has all permissions and its own tree, and the results are for both
// together.
func BenchmarkCustomResources(b *testing.B) {
	for _, of := range []struct {
		name     string
		marked   bool
		versions int
	}{{"marked=false", false, 1}, {"marked=true", true, 1}, {"marked=true,versions=2", true, 2}} {
		marked := of.marked
		for _, many := range []int{10, 100, 1000, 2000} {
			b.Run(fmt.Sprintf("%s/%d", of.name, many), func(b *testing.B) {
				// There are at most a hundred schemas, with changed names: two thousand schemas
				// would take 2 GB.
				models := make([]map[string]*spec.Schema, min(many, 100))
				for i := range models {
					models[i] = customResource(b, i, marked)
				}
				all := make([]map[string]*spec.Schema, many)
				for i := range all {
					all[i] = renamed(models[i%len(models)], i%len(models), i)
				}
				sources := make([]schema.Option, many)
				for i := range all {
					sources[i] = schema.WithSource(func() map[string]*spec.Schema { return all[i] })
				}
				compile := func(sharing *schema.Interner) []*change.Walker {
					walkers := make([]*change.Walker, of.versions*many)
					for at := range walkers {
						i := at % many
						kind := gvkschema.GroupVersionKind{Group: "example.com", Version: "v1",
							Kind: fmt.Sprintf("Kind%d", i%len(models))}
						tree, err := schema.NewModels(all[i], schema.WithInterner(sharing), sources[i]).ByKind(kind)
						if err != nil {
							b.Fatal(err)
						}
						walkers[at] = change.NewWalker(tree)
					}
					return walkers
				}
				b.ReportAllocs()
				start := spent(b)
				for b.Loop() {
					compile(schema.NewInterner())
				}
				b.ReportMetric(float64((spent(b)-start).Microseconds())/float64(b.N)/float64(many), "cpu-µs/CRD")
				sharing := schema.NewInterner()
				before := heap()
				walkers := compile(sharing)
				b.ReportMetric(float64(heap()-before)/float64(many), "B/CRD")
				runtime.KeepAlive(walkers)
				runtime.KeepAlive(sharing)
				runtime.KeepAlive(models)
				runtime.KeepAlive(sources)
				runtime.KeepAlive(all)
			})
		}
	}
}

// renamed returns the definitions with other names for the permissions of the kind itself.
func renamed(definitions map[string]*spec.Schema, from, to int) map[string]*spec.Schema {
	out := maps.Clone(definitions)
	root := *out["root"]
	root.Properties = maps.Clone(root.Properties)
	s := root.Properties["spec"]
	s.Properties = maps.Clone(s.Properties)
	for _, name := range []string{"own", "guard"} {
		p := s.Properties[fmt.Sprint(name, from)]
		delete(s.Properties, fmt.Sprint(name, from))
		if p.Extensions = maps.Clone(p.Extensions); p.Extensions[schema.ExtVerb] != nil {
			p.Extensions[schema.ExtVerb] = fmt.Sprint("example.com/", name, to)
		}
		s.Properties[fmt.Sprint(name, to)] = p
	}
	root.Properties["spec"] = s
	out["root"] = &root
	return out
}

// spent returns the CPU time of the process so far, including garbage collection.
func spent(t testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// heap returns the size of the heap after garbage collection.
func heap() int64 {
	var stats runtime.MemStats
	for range 5 {
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
