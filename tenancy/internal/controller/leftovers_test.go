// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"kube-granular.dev/tenancy/internal/controller"
)

// TestShort checks that a text for the status keeps its limit in bytes, and stays valid UTF-8.
func TestShort(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"mia", "mia"},
		{strings.Repeat("a", 16), strings.Repeat("a", 16)},
		{strings.Repeat("a", 17), strings.Repeat("a", 13) + "…"},
		{strings.Repeat("é", 9), strings.Repeat("é", 6) + "…"},
		{strings.Repeat("界", 1000), strings.Repeat("界", 4) + "…"},
	} {
		if got := controller.Short(tc.text, 16); got != tc.want || len(got) > 16 || !utf8.ValidString(got) {
			t.Errorf("%.20q: %q", tc.text, got)
		}
	}
}
