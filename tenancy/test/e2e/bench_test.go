// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/internal/names"
)

// BenchmarkRevocation measures the time from the answer to the removal of a sudoer until the
// server first refuses the impersonation.
func BenchmarkRevocation(b *testing.B) {
	lns := tenant("revocation")
	if err := shared.client.Create(b.Context(), lns); err != nil {
		b.Fatal(err)
	}
	defer shared.client.Delete(b.Context(), lns)
	sudoers := lns.Spec.Sudoers
	ask := func(want bool) {
		for shared.may("revocation-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name), want) != nil {
		}
	}
	var times []time.Duration
	for b.Loop() {
		for {
			if err := shared.client.Get(b.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
				b.Fatal(err)
			}
			lns.Spec.Sudoers = sudoers
			if err := shared.client.Update(b.Context(), lns); err == nil {
				break
			} else if !apierrors.IsConflict(err) {
				b.Fatal(err)
			}
		}
		ask(true)
		before := lns.DeepCopy()
		lns.Spec.Sudoers = nil
		if err := shared.client.Patch(b.Context(), lns, client.MergeFrom(before)); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		ask(false)
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	for _, p := range []int{50, 90, 99} {
		b.ReportMetric(float64(times[min(len(times)-1, len(times)*p/100)].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
	b.ReportMetric(float64(times[len(times)-1].Microseconds())/1000, "max-ms")
}
