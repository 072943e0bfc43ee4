// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGroups holds that the fastest tests run first and together, and that tests that do not reach
// the mutant do not run.
func TestGroups(t *testing.T) {
	here, elsewhere := map[int]bool{7: true, 8: true}, map[int]bool{8: true}
	b := &Binary{Package: "own", tests: []test{
		{"A", time.Millisecond, here}, {"Slow", 3 * time.Second, here}, {"Other", time.Millisecond, elsewhere}, {"Less", time.Second, here}, {"B", slowLimit, here}, {"C", fastLimit, here},
	}}
	var got [][]string
	for _, g := range groups(7, b) {
		got = append(got, g.names)
	}
	if diff := cmp.Diff([][]string{{"A", "C"}, {"B"}, {"Less"}, {"Slow"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := append(groups(9, b), groups(7, nil)...); len(got) != 0 {
		t.Errorf("runs %v", got)
	}
}

func TestEach(t *testing.T) {
	var sum atomic.Int64
	if err := parallel(t.Context(), 3, 100, func(i int) error { sum.Add(int64(i)); return nil }); err != nil || sum.Load() != 4950 {
		t.Errorf("%v, %d", err, sum.Load())
	}
	broken := errors.New("broken")
	var calls atomic.Int64
	err := parallel(t.Context(), 2, 1000, func(i int) error {
		calls.Add(1)
		return broken
	})
	if !errors.Is(err, broken) || calls.Load() > 10 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}
