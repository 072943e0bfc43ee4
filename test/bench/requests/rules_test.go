// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestSheetsWithoutMarkers checks that the definition for an unpatched server has no permission
// extensions, which such a server does not know.
func TestSheetsWithoutMarkers(t *testing.T) {
	for _, marked := range []bool{false, true} {
		text, err := json.Marshal(sheetDefinition("Note", "notes", marked, false))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), "x-kubernetes-permission"); got != marked {
			t.Errorf("marked %t: has markers %t", marked, got)
		}
	}
}
