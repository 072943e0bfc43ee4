// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"testing"
)

// TestSteps holds that one line is drawn over, and removed at the end. Without a terminal, nothing is drawn.
func TestSteps(t *testing.T) {
	var drawn bytes.Buffer
	s := NewSteps(&drawn)
	s.Clear()
	s.Step("roles", 0)
	s.Step("roles", 500)
	s.Clear()
	s.Clear()
	if want := "\r\x1b[Kreading roles\r\x1b[Kreading roles: 500\r\x1b[K"; drawn.String() != want {
		t.Errorf("%q", drawn.String())
	}
	none := NewSteps(nil)
	none.Step("roles", 500)
	none.Clear()
}
