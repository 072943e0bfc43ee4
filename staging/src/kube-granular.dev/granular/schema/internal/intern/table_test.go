// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"hash/maphash"
	"runtime"
	"testing"
)

type value struct{ a, b int }

var seed = maphash.MakeSeed()

// byHalf gives many values the same hash, so that find has to search several slots.
func byHalf(v *value) uint64 { return maphash.Comparable(seed, v.a) }

func (v *value) same(o *value) bool { return *v == *o }

func intern(t *Table[value], a, b int) *value {
	v := &value{a, b}
	return t.One(v, byHalf, v.same)
}

// TestOne checks that One returns the same address for equal values, also for values with the same
// hash, and while the table grows.
func TestOne(t *testing.T) {
	var table Table[value]
	var first []*value
	for i := range 1000 {
		first = append(first, intern(&table, i/10, i))
	}
	for i, v := range first {
		if *v != (value{i / 10, i}) {
			t.Fatalf("got %v for number %d", *v, i)
		}
		if again := intern(&table, i/10, i); again != v {
			t.Fatalf("number %d is there twice", i)
		}
	}
	if table.Used() != len(first) || table.Size() < len(first) {
		t.Errorf("%d of %d slots are used for %d values", table.Used(), table.Size(), len(first))
	}
	runtime.KeepAlive(first)
}

// TestGrowth checks that a table grows when three quarters of its slots are used, and not before.
func TestGrowth(t *testing.T) {
	var table Table[value]
	var kept []*value
	for values, want := range map[int]int{0: 0, 1: 16, 12: 16, 13: 32, 24: 32, 25: 64, 48: 64, 49: 128} {
		table, kept = Table[value]{}, nil
		for i := range values {
			kept = append(kept, intern(&table, i, i))
		}
		if table.Size() != want {
			t.Errorf("%d slots for %d values, not %d", table.Size(), values, want)
		}
	}
	runtime.KeepAlive(kept)
}

// TestSlotsOfCollectedValues checks that a full table grows only if most of its values are in use.
func TestSlotsOfCollectedValues(t *testing.T) {
	for inUse, want := range map[int]int{0: 16, 8: 16, 9: 32, 12: 32} {
		var table Table[value]
		var kept []*value
		for i := range 12 {
			if v := intern(&table, i, i); i < inUse {
				kept = append(kept, v)
			}
		}
		for range 3 {
			runtime.GC()
		}
		kept = append(kept, intern(&table, -1, -1))
		if table.Size() != want || table.Used() != inUse+1 {
			t.Errorf("%d of %d slots are used, with %d values in use before; not of %d", table.Used(), table.Size(), inUse, want)
		}
		runtime.KeepAlive(kept)
	}
}

// TestForgets checks that the table keeps no value alive, and does not grow with collected values.
func TestForgets(t *testing.T) {
	var table Table[value]
	kept := intern(&table, -1, -1)
	for i := range 10_000 {
		intern(&table, i, i)
		if i%100 == 0 {
			runtime.GC()
		}
	}
	if table.Size() > 1024 {
		t.Errorf("%d slots for one value", table.Size())
	}
	if intern(&table, -1, -1) != kept {
		t.Error("a value in use was forgotten")
	}
	runtime.KeepAlive(kept)
}
