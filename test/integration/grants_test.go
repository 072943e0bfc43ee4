// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestGrants holds the roles of docs/tutorials/useful-grants.md, and further ones that
// people ask for: each does what it says and nothing next to it.
func TestGrants(t *testing.T) {
	harness.RunScripts(t, on, "grants_*.txtar")
}
