// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	upstream "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/speed/equality"
)

// BenchmarkEquality measures comparisons that strategies and validation make by
// equality.Semantic: with upstream's code, and with compiled comparisons, in turns.
func BenchmarkEquality(b *testing.B) {
	compiled := equality.New(func() bool { return true })
	compare := func(name string, x, y any, want bool) {
		sides := []side{
			{"compiled", 200, func() {
				if equal, known := compiled(upstream.Semantic.Equalities, x, y); known && equal != want {
					b.Fatal("the wrong answer")
				}
			}},
			{"upstream", 20, func() {
				if upstream.Semantic.DeepEqual(x, y) != want {
					b.Fatal("the wrong answer")
				}
			}},
		}
		b.Run(name, func(b *testing.B) {
			spent := inTurns(b, sides)
			b.ReportMetric(float64(spent[0])/float64(spent[1]), "compiled:upstream")
			b.ReportMetric(testing.AllocsPerRun(50, sides[0].run), "allocs/compiled")
			b.ReportMetric(testing.AllocsPerRun(50, sides[1].run), "allocs/upstream")
		})
	}
	for _, k := range kinds() {
		gvk := gvkschema.GroupVersionKind{Group: k.group, Version: "v1", Kind: k.kind()}
		old, same, deep := received(b, k.make(), gvk), received(b, k.make(), gvk), received(b, k.make(), gvk)
		if _, ok := old.(*unstructured.Unstructured); ok {
			continue // upstream's code compares custom resources
		}
		k.deep(deep)
		compare(k.name+"/equal", old, same, true)
		compare(k.name+"/deep", old, deep, false)
		if spec := specOf(old); spec != nil {
			compare(k.name+"/spec", spec, specOf(same), true)
		}
	}
	labels := named().Labels
	compare("labels", labels, named().Labels, true)
	compare("not understood", &appsv1.ControllerRevision{}, &appsv1.ControllerRevision{}, true)
}

// specOf returns the spec of an object by value, as strategies compare it.
func specOf(o runtime.Object) any {
	switch o := o.(type) {
	case *corev1.Pod:
		return o.Spec
	case *appsv1.Deployment:
		return o.Spec
	}
	return nil
}
