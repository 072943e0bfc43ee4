// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"fmt"
	"math/bits"
	"testing"
)

// TestCallersAreAllSets checks that each set of verbs agrees with exactly one caller of a write in the verbs
// that this caller was asked for, and that Worlds counts the sets of all verbs.
func TestCallersAreAllSets(t *testing.T) {
	const verbs = 6
	name := func(i int) string { return fmt.Sprintf("granular:%d", i) }
	c := NewCaller()
	for i := range verbs {
		c.Holds(name(i))
	}
	for write := range 50 {
		seen, sets := [1 << verbs]int{}, uint64(0)
		c.Begin()
		for more := true; more; more = c.Next() {
			next := write % verbs
			for range 1 + write%verbs { // which verb is asked for next depends on the answers
				if c.Holds(name(next)) {
					next = (next*3 + write + 1) % verbs
				} else {
					next = (next + 1) % verbs
				}
			}
			sets += 1 << (verbs - bits.OnesCount64(c.asked))
			for set := range uint64(len(seen)) {
				if set&c.asked == c.held {
					seen[set]++
				}
			}
		}
		for set, callers := range seen {
			if callers != 1 {
				t.Fatalf("write %d: %d callers stand for the set %b", write, callers, set)
			}
		}
		if sets != 1<<verbs {
			t.Fatalf("write %d: its callers stand for %d sets", write, sets)
		}
	}
	if got := c.Worlds(); got != (Count{Number: 50 << verbs}) {
		t.Errorf("counted %v worlds", got)
	}
}

// TestCountsAreExact checks that a number that does not fit is not taken for one that does.
func TestCountsAreExact(t *testing.T) {
	many := NewCaller()
	many.Begin()
	for i := range maxVerbs {
		many.Holds(fmt.Sprint(i))
	}
	largest := many.Worlds()
	many.Begin()
	twice := many.Worlds()
	again := NewCaller()
	for i := range maxVerbs + 1 {
		again.Holds(fmt.Sprint(i))
	}
	for name, tc := range map[string]struct {
		count Count
		over  bool
	}{
		"63 verbs":             {largest, false},
		"63 verbs, two writes": {twice, true},
		"64 verbs":             {again.Worlds(), true},
		"a sum":                {largest.Plus(Count{Number: 1<<63 - 1}), false},
		"a larger sum":         {largest.Plus(largest), true},
		"after one":            {Count{}.Plus(twice), true},
		"before one":           {twice.Plus(Count{}), true},
	} {
		if tc.count.Over != tc.over {
			t.Errorf("%s: %+v", name, tc.count)
		}
	}
}
