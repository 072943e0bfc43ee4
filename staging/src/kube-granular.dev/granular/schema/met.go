// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

// met remembers hashes by one bit each, so it takes some for others: for one in thirty,
// at most one in sixteen. When it grows it forgets.
type met struct {
	bits []uint64
	used int
}

const bitsForEach = 16

// again says that a hash was met before, and remembers it.
func (m *met) again(hash uint64) bool {
	if m.has(hash) {
		return true
	}
	if bitsForEach*(m.used+1) > 64*len(m.bits) {
		m.bits, m.used = make([]uint64, max(8, 2*len(m.bits))), 0
	}
	i := hash % uint64(64*len(m.bits))
	m.bits[i/64] |= 1 << (i % 64)
	m.used++
	return false
}

func (m *met) has(hash uint64) bool {
	if len(m.bits) == 0 {
		return false
	}
	i := hash % uint64(64*len(m.bits))
	return m.bits[i/64]&(1<<(i%64)) != 0
}
