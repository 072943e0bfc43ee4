// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"testing"
)

// TestWarningsAreSettledOnce holds that what was held back is shown once, and what was
// dropped never.
func TestWarningsAreSettledOnce(t *testing.T) {
	for _, first := range []bool{true, false} {
		var got []string
		w := &Warnings{record: func(_, text string) { got = append(got, text) }}
		w.Hold()
		w.AddWarning("", "held")
		w.Settle(first)
		w.AddWarning("", "late")
		w.Settle(true)
		want := []string{"held", "late"}
		if !first {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("shown first: %t, got %q", first, got)
		}
	}
}
