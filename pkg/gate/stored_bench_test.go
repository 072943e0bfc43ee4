// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// inStoredVersion returns a function that verifies a granular request in the stored version. If
// stored is false, the server does not know how the objects are stored, as for built-in kinds.
func inStoredVersion(tb testing.TB, stored bool) func() {
	tb.Helper()
	target := storedTarget(tb, "", false)
	target.Kind = thingV2
	if !stored {
		target.Schema.Stored = nil
	}
	old, changed := versioned(tb, `{"size":1,"secret":"s"}`, "5"), versioned(tb, `{"size":2,"secret":"s"}`, "5")
	old.GetObjectKind().SetGroupVersionKind(thingV2)
	changed.GetObjectKind().SetGroupVersionKind(thingV2)
	ctx, _ := granular.WithMarker(requestContext("update"))
	g := New(authorizerfactory.NewAlwaysAllowAuthorizer())
	return func() {
		w := g.Begin(ctx, target)
		if err := w.Observe(ctx, changed, old); err != nil {
			tb.Fatal(err)
		}
		if err := w.Verify(ctx, changed, old); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestStoredAllocatesNothing checks that a granular request in the stored version allocates no more
// than if the server did not know how objects are stored.
func TestStoredAllocatesNothing(t *testing.T) {
	with, without := testing.AllocsPerRun(100, inStoredVersion(t, true)), testing.AllocsPerRun(100, inStoredVersion(t, false))
	if with > without {
		t.Errorf("%v allocations, without %v", with, without)
	}
}

// BenchmarkStored compares the Gate's time for a granular request in the stored version with the
// time if the server does not know how objects are stored. Both take turns.
func BenchmarkStored(b *testing.B) {
	with, without := inStoredVersion(b, true), inStoredVersion(b, false)
	var ratios []float64
	for b.Loop() {
		took := func(f func()) time.Duration {
			began := time.Now()
			for range 2000 {
				f()
			}
			return time.Since(began)
		}
		first := took(without)
		ratios = append(ratios, float64(took(with))/float64(first))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "with/without")
}
