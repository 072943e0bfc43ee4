// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"testing"
)

// TestReadLines checks that a text that is not read to its end says so, and that no line is cut.
func TestReadLines(t *testing.T) {
	for name, tc := range map[string]struct {
		input, text string
		unread      bool
	}{
		"nothing":           {"", "", false},
		"as long as read":   {"aaa\nbbbb", "aaa\nbbbb", false},
		"one byte more":     {"aaa\nbbbb\n", "aaa\n", true},
		"no line ends":      {"aaaaaaaaaa", "", true},
		"a line ends there": {"aaa\nbbb\ncc", "aaa\nbbb\n", true},
	} {
		text, unread, err := readLines(strings.NewReader(tc.input), 8)
		if err != nil || text != tc.text || (unread != nil) != tc.unread {
			t.Errorf("%s: %q, %v, %v", name, text, unread, err)
		}
	}
}
