// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"strings"
	"testing"
)

// TestListed checks that Listed returns as many verbs as fit into MaxLength, and the number of
// the omitted ones.
func TestListed(t *testing.T) {
	if got := Listed([]string{"granular:a", "granular:b"}); got != "granular:a granular:b" {
		t.Errorf("got %s", got)
	}
	if got := Listed(nil); got != "" {
		t.Errorf("got %s", got)
	}
	for length := 1; length <= 600; length += 13 {
		var verbs []string
		for i := range 64 {
			verbs = append(verbs, fmt.Sprintf("granular:%02d%s", i, strings.Repeat("x", length)))
		}
		got := Listed(verbs)
		if len(got) > MaxLength {
			t.Fatalf("%d bytes", len(got))
		}
		parts := strings.Split(got, " ")
		left := 0
		if last := parts[len(parts)-1]; strings.HasPrefix(last, "...+") {
			if _, err := fmt.Sscanf(last, "...+%d", &left); err != nil {
				t.Fatal(err)
			}
			parts = parts[:len(parts)-1]
		}
		if len(parts)+left != len(verbs) || left > 0 && len(got)+2*len(verbs[0]) < MaxLength {
			t.Errorf("of %d verbs %d are listed in %d bytes, %d are left out", len(verbs), len(parts), len(got), left)
		}
		for i, part := range parts {
			if part != verbs[i] {
				t.Errorf("verb %d is %s", i, part)
			}
		}
	}
}
