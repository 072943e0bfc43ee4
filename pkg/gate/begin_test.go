// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"testing"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// TestBeginCostsNothing holds that an ordinary request of a kind without excluded
// permissions, which is nearly every write of a cluster, allocates nothing.
func TestBeginCostsNothing(t *testing.T) {
	gate := New(&grants{})
	ctx := requestContext("update")
	var port granular.Gate = gate
	for name, model := range map[string]granular.Target{
		"known":     target(t, strings.Replace(things, "EXCLUDED", "false", 1)),
		"malformed": target(t, strings.Replace(strings.Replace(things, "EXCLUDED", "false", 1), `"size"}`, `"Not A Permission"}`, 1)),
		"unknown":   target(t, ""),
		"custom":    unmarked(t).Target,
	} {
		var w granular.Write
		if allocs := testing.AllocsPerRun(1000, func() { w = port.Begin(ctx, model) }); allocs != 0 {
			t.Errorf("schema %s: %v allocations", name, allocs)
		}
		if w != nil {
			t.Errorf("schema %s: there is something to verify", name)
		}
	}
}

// unmarked is the target of a custom resource whose definition excludes nothing.
func unmarked(t *testing.T) *custom {
	out := customTarget(t, strings.Replace(things, "EXCLUDED", "false", 1))
	out.Schema.Excludes = []gvk.GroupVersionKind{}
	return out
}

// TestNoTreeBeforeItIsNeeded holds that ordinary writes of a custom resource that excludes
// nothing compile no tree, to its scale neither, and that a granular one does; and that
// they are looked at wherever any version of the definition excludes something, and where
// nothing says whether it does.
func TestNoTreeBeforeItIsNeeded(t *testing.T) {
	gate, ctx := New(&grants{}), requestContext("update")
	of := unmarked(t)
	scale := of.Target
	scale.Kind, scale.Scale = gvk.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, &granular.Scale{Kind: thing, Path: []string{"spec", "size"}}
	for _, target := range []granular.Target{of.Target, scale} {
		if w := gate.Begin(ctx, target); w != nil || of.made != 0 {
			t.Errorf("%T, models made %d times", w, of.made)
		}
	}
	marked, _ := granular.WithMarker(ctx)
	if w := gate.Begin(marked, of.Target); w == nil || of.made != 1 {
		t.Errorf("a granular request: %T, models made %d times", w, of.made)
	}

	other := thing
	other.Version = "v2"
	for name, excludes := range map[string][]gvk.GroupVersionKind{
		"this version":    {thing},
		"another version": {other},
		"not known":       nil,
	} {
		of := unmarked(t)
		of.Schema.Excludes = excludes
		gate.Begin(ctx, of.Target)
		if of.made != 1 {
			t.Errorf("%s: models made %d times", name, of.made)
		}
	}
}

// TestNothingExcludedChanged holds that an ordinary update which changes no excluded field
// asks nothing, and verifying it allocates nothing but its verdict.
func TestNothingExcludedChanged(t *testing.T) {
	g := &grants{}
	ctx := requestContext("update")
	w := New(g).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "true", 1)))
	old, changed := object(t, plain), object(t, larger)
	if err := w.Observe(ctx, changed, old); err != nil {
		t.Fatal(err)
	}
	allocated := testing.AllocsPerRun(100, func() {
		if err := w.Verify(ctx, changed, old); err != nil {
			t.Fatal(err)
		}
	})
	if allocated > 1 || len(g.asked) > 0 {
		t.Errorf("%v allocations, asked %q", allocated, g.asked)
	}
}

// TestWriteIsOneAllocation holds that nothing is made beside a write before it is needed: the
// limit of parameter expressions is not, where there is no expression.
func TestWriteIsOneAllocation(t *testing.T) {
	model, gate, a := target(t, strings.Replace(things, "EXCLUDED", "false", 1)), New(&grants{}), attributes("update")
	ctx, marker := granular.WithMarker(requestContext("update"))
	kind := kindOf(model)
	var w *write
	if allocs := testing.AllocsPerRun(1000, func() { w = newWrite(ctx, gate, model, kind, &a, marker) }); allocs != 1 {
		t.Errorf("%v allocations", allocs)
	}
	if !w.marked {
		t.Error("it is no granular one")
	}
}

// BenchmarkBegin is what the Gate costs an ordinary request.
func BenchmarkBegin(b *testing.B) {
	model := target(b, strings.Replace(things, "EXCLUDED", "false", 1))
	var port granular.Gate = New(&grants{})
	ctx := requestContext("update")
	b.ReportAllocs()
	defer onThread(b)()
	for b.Loop() {
		if port.Begin(ctx, model) != nil {
			b.Fatal("there is something to verify")
		}
	}
}

// BenchmarkGranularUpdate is what the Gate costs a granular request that changes
// one field, its authorizer aside.
func BenchmarkGranularUpdate(b *testing.B) {
	model := target(b, strings.Replace(things, "EXCLUDED", "false", 1))
	gate := New(&grants{allow: []string{"granular:size", "get"}})
	old, changed := object(b, plain), object(b, larger)
	b.ReportAllocs()
	for b.Loop() {
		ctx, _ := granular.WithMarker(requestContext("update"))
		w := gate.Begin(ctx, model)
		if err := w.Submitted(ctx, changed, old); err != nil {
			b.Fatal(err)
		}
		if err := w.Observe(ctx, changed, old); err != nil {
			b.Fatal(err)
		}
		if err := w.Verify(ctx, changed, old); err != nil {
			b.Fatal(err)
		}
		w.Respond(ctx, changed)
	}
}
