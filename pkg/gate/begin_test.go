// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"strings"
	"testing"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
	"kube-granular.dev/granular/protect"
)

// TestBeginCostsNothing checks that Begin allocates nothing for an ordinary request to a kind
// without excluded permissions. Nearly every write of a cluster is such a request.
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

// TestBeginCostsNothingWhereNothingIsProtected checks that Begin allocates nothing if the server
// has protected attributes, but an object of the kind in the namespace can't have any of them. A
// permission tree is compiled only if a protected attribute is limited to certain resources.
func TestBeginCostsNothingWhereNothingIsProtected(t *testing.T) {
	elsewhere, nodes, reserved := env, env, env
	elsewhere.Namespace = "elsewhere"
	nodes.Resources = []protect.Resource{{Resource: "nodes"}}
	reserved.Key = "pod-template-hash"
	var many []protect.Entry
	for i := range 1000 {
		e := elsewhere
		e.Name, e.Key = fmt.Sprint(i), fmt.Sprintf("example.com/%d", i)
		many = append(many, e)
	}
	pods := endpoint(t, kindNamed("/v1/Pod"), "pods")
	for name, set := range map[string]*protect.Set{
		"none": nil, "none left": protect.New().With("n"), "another namespace": protect.New(elsewhere), "1000 of another namespace": protect.New(many...),
		"another resource": protect.New(nodes), "what can't be protected": protect.New(reserved),
	} {
		of := unmarked(t)
		scale := pods
		scale.Subresource = "scale"
		for target, ctx := range map[*granular.Target]context.Context{&of.Target: requestContext("update"), &pods: contextOf("update", pods, "n", "x"), &scale: contextOf("update", scale, "n", "x")} {
			var port granular.Gate = New(&grants{}, WithProtection(&inForce{set: set}))
			var w granular.Write
			port.Begin(ctx, *target)
			if allocs := testing.AllocsPerRun(1000, func() { w = port.Begin(ctx, *target) }); allocs != 0 {
				t.Errorf("%s: %v allocations", name, allocs)
			}
			if w != nil {
				t.Errorf("%s: there is something to verify", name)
			}
		}
		if of.made > 0 && name != "another resource" {
			t.Errorf("%s: a tree was compiled", name)
		}
	}
}

// TestNothingProtectedChanged checks that verifying a write that changes no protected attribute
// makes no authorization check and at most one allocation.
func TestNothingProtectedChanged(t *testing.T) {
	pods := endpoint(t, kindNamed("/v1/Pod"), "pods")
	ctx := contextOf("update", pods, "n", "x")
	g, p := &questioned{}, &inForce{set: protect.New(env, net)}
	w := New(g, WithProtection(p)).Begin(ctx, pods)
	old, changed := stored(t, podAt(envProd)), sentObject(t, podAt(envProd2))
	if err := w.Observe(ctx, changed, old); err != nil {
		t.Fatal(err)
	}
	allocated := testing.AllocsPerRun(100, func() {
		if err := w.Verify(ctx, changed, old); err != nil {
			t.Fatal(err)
		}
	})
	if allocated > 1 || len(g.all) > 0 || len(p.asked) > 0 {
		t.Errorf("%v allocations, asked %v, %q", allocated, g.all, p.asked)
	}
}

// BenchmarkProtected measures the cost of protected attributes for an ordinary update of a pod:
// without protection, with none in force, with one in force in another namespace, and with 1,000
// in force of which the update changes none.
func BenchmarkProtected(b *testing.B) {
	var many []protect.Entry
	for i := range 1000 {
		e := env
		e.Name, e.Key = fmt.Sprint(i), fmt.Sprintf("example.com/%d", i)
		many = append(many, e)
	}
	for name, p := range map[string]Protection{"off": nil, "none": &inForce{}, "elsewhere": &inForce{set: protect.New().With("m", env)}, "1000": &inForce{set: protect.New(many...)}} {
		b.Run(name, func(b *testing.B) {
			pods := endpoint(b, kindNamed("/v1/Pod"), "pods")
			ctx := contextOf("update", pods, "n", "p")
			var port granular.Gate = New(&grants{}, WithProtection(p))
			old, changed := pod(b, "a"), pod(b, "b")
			port.Begin(ctx, pods)
			b.ReportAllocs()
			defer onThread(b)()
			for b.Loop() {
				w := port.Begin(ctx, pods)
				if w == nil {
					continue
				}
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
		})
	}
}

// unmarked returns the target of a custom resource whose definition has no excluded permission.
func unmarked(t *testing.T) *custom {
	out := customTarget(t, strings.Replace(things, "EXCLUDED", "false", 1))
	out.Schema.Excludes = []gvk.GroupVersionKind{}
	return out
}

// TestNoTreeBeforeItIsNeeded checks when the permission tree of a custom resource is compiled. An
// ordinary write of a resource or its scale compiles none if no version of the definition has an
// excluded permission. A granular write does. An ordinary write does too if any version has an
// excluded permission, or if it is not known whether one has.
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

// TestNothingExcludedChanged checks that an ordinary update that changes no field with an
// excluded permission makes no authorization check, and allocates only its verdict.
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

// TestWriteIsOneAllocation checks that newWrite allocates only the write itself. In particular,
// it allocates no cost limit for parameter expressions, because this schema has no expression.
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

// BenchmarkBegin measures the cost of the Gate for an ordinary request.
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

// BenchmarkGranularUpdate measures the cost of the Gate for a granular request that changes one
// field. The authorizer is a fake, so its cost is not included.
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
