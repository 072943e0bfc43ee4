// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"hash/maphash"
	"testing"
)

// TestMet holds that what was met is known at once, that little else is taken for it, and
// that what is kept grows with what is met.
func TestMet(t *testing.T) {
	seed := maphash.MakeSeed()
	var m met
	wrong, many := 0, 10_000
	for i := range many {
		hash := maphash.Comparable(seed, i)
		if m.again(hash) {
			wrong++
		}
		if !m.again(hash) {
			t.Fatalf("%d is forgotten at once", i)
		}
		if room := 64 * len(m.bits); room > max(512, 4*bitsForEach*(i+1)) {
			t.Fatalf("%d bits for %d", room, i+1)
		}
	}
	if wrong > many/16 {
		t.Errorf("%d of %d were taken for others", wrong, many)
	}
}
