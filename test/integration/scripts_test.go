// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestSupersafe is KEP-3617's story 1: an operator that may change its own labels,
// annotations, finalizers and condition, and nothing else.
func TestSupersafe(t *testing.T) {
	harness.RunScripts(t, on, "supersafe_*.txtar")
}

// TestEditor holds that callers with the ordinary verbs notice nothing.
func TestEditor(t *testing.T) {
	harness.RunScripts(t, on, "editor.txtar")
}

// TestGateOff holds that without the feature gate every answer is upstream's.
func TestGateOff(t *testing.T) {
	off := harness.Start(t, "--feature-gates", "GranularAuthorization=false")
	harness.RunScripts(t, off, "gate_off*.txtar")
}

// TestClosed holds the paths on which no field can be verified: each refuses a
// caller who holds the verb granular and not the ordinary one.
func TestClosed(t *testing.T) {
	harness.RunScripts(t, on, "closed.txtar")
}

// TestScale holds that replicas is one permission, on the object and on its scale.
func TestScale(t *testing.T) {
	harness.RunScripts(t, on, "scale.txtar")
}

// TestGrants holds the roles of docs/tutorials/useful-grants.md, and further ones that
// people ask for: each does what it says and nothing next to it.
func TestGrants(t *testing.T) {
	harness.RunScripts(t, on, "grants_*.txtar")
}

// TestComparison holds what docs/comparison.md says of permissions and of admission policies:
// each task is done with both, or is shown not to be.
func TestComparison(t *testing.T) {
	harness.RunScripts(t, on, "compare_*.txtar")
}
