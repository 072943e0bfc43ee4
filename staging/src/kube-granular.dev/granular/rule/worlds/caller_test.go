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
	if got := c.Worlds(); got != 50<<verbs {
		t.Errorf("counted %d worlds", got)
	}
}

// TestCountsAreExact checks that a number that does not fit is not returned.
func TestCountsAreExact(t *testing.T) {
	many := NewCaller()
	for i := range MaxVerbs {
		many.Holds(fmt.Sprint(i))
	}
	many.writes = 2
	for name, count := range map[string]func(){
		"a sum":                   func() { Sum(1<<63, 1<<63) },
		"a product":               func() { many.Worlds() },
		"a verb more":             func() { many.Holds("one more") },
		"the largest sum":         func() { Sum(1<<63, 1<<63-1); panic("fits") },
		"a verb that was counted": func() { many.Holds("1"); panic("fits") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			count()
		}()
	}
}
