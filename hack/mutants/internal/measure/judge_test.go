// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What is quick runs first, of the own package before others, and what does not come by
// the mutant not at all.
func TestGroups(t *testing.T) {
	here, elsewhere := map[int]bool{7: true, 8: true}, map[int]bool{8: true}
	own := &Binary{Package: "own", tests: []test{{"A", time.Millisecond, here}, {"Slow", 3 * time.Second, here}, {"Other", time.Millisecond, elsewhere}, {"B", quick, here}}}
	above := &Binary{Package: "above", tests: []test{{"Less", time.Second, here}, {"C", 0, here}}}
	none := &Binary{Package: "none", tests: []test{{"D", 0, elsewhere}}}
	var got [][]string
	for _, g := range groups(7, []*Binary{own, none, above}) {
		got = append(got, slices.Insert(slices.Clone(g.names), 0, g.Package))
	}
	want := [][]string{{"own", "A", "B"}, {"above", "C"}, {"above", "Less"}, {"own", "Slow"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEach(t *testing.T) {
	var sum atomic.Int64
	if err := each(t.Context(), 3, 100, func(i int) error { sum.Add(int64(i)); return nil }); err != nil || sum.Load() != 4950 {
		t.Errorf("%v, %d", err, sum.Load())
	}
	broken := errors.New("broken")
	var calls atomic.Int64
	err := each(t.Context(), 2, 1000, func(i int) error {
		calls.Add(1)
		return broken
	})
	if !errors.Is(err, broken) || calls.Load() > 10 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}
