// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"strings"
	"testing"

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
		if _, err := w.Submitted(ctx, changed, old); err != nil {
			b.Fatal(err)
		}
		if _, err := w.Observe(ctx, changed, old); err != nil {
			b.Fatal(err)
		}
		if err := w.Verify(ctx, changed, old); err != nil {
			b.Fatal(err)
		}
		w.Respond(ctx, changed)
	}
}
