// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzHead holds that what is cut is cut between characters, and that little is lost.
func FuzzHead(f *testing.F) {
	f.Add("a€b", 2)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = max(0, limit%100)
		got := Head(s, limit)
		rest, cut := strings.CutSuffix(got, Ellipsis)
		if len(s) <= limit {
			if got != s {
				t.Errorf("%q is cut to %q", s, got)
			}
			return
		}
		if !cut || len(rest) > limit || !strings.HasPrefix(s, rest) || utf8.ValidString(s) && (!utf8.ValidString(rest) || len(rest)+utf8.UTFMax <= limit) {
			t.Errorf("%q to %d bytes is %q", s, limit, got)
		}
	})
}
