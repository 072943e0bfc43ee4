// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package intern

import "weak"

// Table is a hash table of weak pointers with open addressing. To be small, it stores no hashes
// and computes them again when it grows. The zero Table is empty. It is not safe for concurrent
// use.
type Table[T any] struct {
	slots []weak.Pointer[T]
	// used counts the slots that are not empty, including those of collected values.
	used int
}

// One returns the value of the table that equals mine. If there is none, it adds mine and returns
// it. All calls must pass the same hashOf. The function same reports whether a value equals mine.
// Values that are equal must have the same hash.
func (t *Table[T]) One(mine *T, hashOf func(*T) uint64, same func(*T) bool) *T {
	if 4*(t.used+1) > 3*len(t.slots) {
		t.resize(hashOf)
	}
	i, found := t.find(hashOf(mine), same)
	if found != nil {
		return found
	}
	t.slots[i], t.used = weak.Make(mine), t.used+1
	return mine
}

// Size returns how many slots the table has.
func (t *Table[T]) Size() int { return len(t.slots) }

// Used returns how many slots are taken, including those of collected values.
func (t *Table[T]) Used() int { return t.used }

// find returns the value for which same returns true, and the index of its slot. If there is none,
// find returns nil and the index of the empty slot for such a value. The result is a strong
// pointer: with a weak one, the value might be collected before the caller uses it.
func (t *Table[T]) find(hash uint64, same func(*T) bool) (uint64, *T) {
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if t.slots[i] == (weak.Pointer[T]{}) {
			return i, nil
		}
		if other := t.slots[i].Value(); other != nil && same(other) {
			return i, other
		}
	}
}

// resize rebuilds the table with free slots, and drops the slots of collected values.
func (t *Table[T]) resize(hashOf func(*T) uint64) {
	var live []*T
	for _, slot := range t.slots {
		if p := slot.Value(); p != nil {
			live = append(live, p)
		}
	}
	size := 16
	for 3*size/5 <= len(live) {
		size *= 2
	}
	t.slots, t.used = make([]weak.Pointer[T], size), len(live)
	for _, p := range live {
		i, _ := t.find(hashOf(p), func(*T) bool { return false })
		t.slots[i] = weak.Make(p)
	}
}
