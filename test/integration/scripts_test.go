// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestSupersafe tests story 1 of KEP-3617: an operator that may change only its own labels,
// annotations, finalizers and condition.
func TestSupersafe(t *testing.T) {
	harness.RunScripts(t, on, "supersafe_*.txtar")
}

// TestEditor checks that granular authorization changes nothing for callers with the ordinary
// verbs.
func TestEditor(t *testing.T) {
	harness.RunScripts(t, on, "editor.txtar")
}

// TestGateOff checks that, with the gate off, every answer is the same as upstream's.
func TestGateOff(t *testing.T) {
	off := harness.Start(t, "--feature-gates", "GranularAuthorization=false")
	harness.RunScripts(t, off, "gate_off*.txtar")
}

// TestClosed checks the requests in which the server can't verify fields. Each must refuse a
// caller that holds the verb granular but not the ordinary verb.
func TestClosed(t *testing.T) {
	harness.RunScripts(t, on, "closed.txtar")
}

// TestScale checks that the permission replicas covers the field in the object and in its scale
// subresource.
func TestScale(t *testing.T) {
	harness.RunScripts(t, on, "scale.txtar")
}

// TestGrants checks the roles of docs/tutorials/useful-grants.md and other common roles: each
// allows what it promises, and refuses the neighbouring changes.
func TestGrants(t *testing.T) {
	harness.RunScripts(t, on, "grants_*.txtar")
}

// TestComparison checks the claims of docs/comparison.md about permissions and admission
// policies: a script does each task with both, or shows that one of them can't do it.
func TestComparison(t *testing.T) {
	harness.RunScripts(t, on, "compare_*.txtar")
}
