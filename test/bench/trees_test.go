// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/modelstest"
)

// builtin returns the names of the models that belong to built-in kinds.
func builtin(all map[string]*spec.Schema) []string {
	var roots []string
	for name, m := range all {
		metadata, ok := m.Properties["metadata"]
		if _, kind := m.Properties["kind"]; ok && kind && refersTo(metadata, "ObjectMeta") {
			roots = append(roots, name)
		}
	}
	return roots
}

// BenchmarkTrees compiles the permission trees (the trees of a kind's fields, with the permission
// that each needs) of all built-in kinds: all from one Models, and each from its own Models, like a
// server that compiles a kind at the first write to it.
func BenchmarkTrees(b *testing.B) {
	all := modelstest.BuiltIn()
	roots := builtin(all)
	for _, way := range []struct {
		name string
		of   func(*schema.Interner) func() *schema.Models
	}{
		{"together", func(s *schema.Interner) func() *schema.Models {
			known := schema.NewModels(all, schema.WithInterner(s))
			return func() *schema.Models { return known }
		}},
		{"each", func(s *schema.Interner) func() *schema.Models {
			return func() *schema.Models { return schema.NewModels(all, schema.WithInterner(s)) }
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			compile := func(interner *schema.Interner) []*schema.Tree {
				of := way.of(interner)
				trees := make([]*schema.Tree, 0, len(roots))
				for _, name := range roots {
					tree, err := of().Compile(name)
					if err != nil {
						b.Fatalf("%s: %v", name, err)
					}
					trees = append(trees, tree)
				}
				return trees
			}
			b.ReportAllocs()
			start := processCPU(b)
			for b.Loop() {
				compile(schema.NewInterner())
			}
			b.ReportMetric(float64((processCPU(b)-start).Microseconds())/1000/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(len(roots)), "trees")
			places := 0
			for _, tree := range compile(schema.NewInterner()) {
				for range tree.NodePaths() {
					places++
				}
			}
			b.ReportMetric(float64(places), "places")
			b.ReportMetric(float64(retained(func() any {
				interner := schema.NewInterner()
				return []any{compile(interner), interner}
			})), "retained-B")
		})
	}
}

// processCPU returns the CPU time of all threads of the process, including the garbage collector.
func processCPU(t testing.TB) time.Duration {
	usage := unix.Rusage{}
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// refersTo reports whether the schema of a property refers to a model, either directly or in allOf,
// which is used for properties with a default.
func refersTo(s spec.Schema, model string) bool {
	for _, one := range append(s.AllOf, s) {
		if strings.HasSuffix(one.Ref.String(), "."+model) {
			return true
		}
	}
	return false
}

// retained returns by how many bytes the live heap grows by the result of make. It collects garbage
// several times, so that objects in a sync.Pool do not count.
func retained(make func() any) int64 {
	before, after := goruntime.MemStats{}, goruntime.MemStats{}
	collect := func(into *goruntime.MemStats) {
		for range 3 {
			goruntime.GC()
		}
		goruntime.ReadMemStats(into)
	}
	collect(&before)
	made := make()
	collect(&after)
	goruntime.KeepAlive(made)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}
