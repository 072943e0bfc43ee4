// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package intern

import "weak"

// Table is a hash table of weak pointers with open addressing. It keeps no hashes, to be
// small: they are computed again when it grows. The zero Table is empty. It is not safe for
// concurrent use.
type Table[T any] struct {
	slots []weak.Pointer[T]
	// used counts the slots that are not empty, those of collected values too.
	used int
}

// One returns the value of the table that is the same as mine, or else adds mine and
// returns it. All values of a table must be given the same hashOf, and same must hold only
// for values of one hash.
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

// Used returns how many slots are taken, those of collected values too.
func (t *Table[T]) Used() int { return t.used }

// find returns the value that is the same, or else the empty slot where it belongs. The
// value is returned as a strong pointer: looked up again, it might be collected.
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

// resize makes room, and drops the slots of collected values.
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
