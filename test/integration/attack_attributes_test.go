// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestAttributeAttacks runs the scripts that try to get around protected labels and
// annotations.
func TestAttributeAttacks(t *testing.T) {
	c := harness.Start(t, "--feature-gates", "ProtectedAttributes=true")
	harness.RunScripts(t, c, "attributes_*.txtar")
}
