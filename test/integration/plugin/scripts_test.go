// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestPluginExplain checks the output of explain for built-in kinds and custom resources.
func TestPluginExplain(t *testing.T) {
	harness.RunScripts(t, on, "explain.txtar")
}

// TestPluginCanI checks the output of can-i for every kind of change, and that can-i writes
// nothing.
func TestPluginCanI(t *testing.T) {
	harness.RunScripts(t, on, "can_i.txtar")
}

// TestPluginRole checks that the roles that the command role generates allow their change, and
// no similar one.
func TestPluginRole(t *testing.T) {
	harness.RunScripts(t, on, "role.txtar")
}

// TestPluginWhoCan checks whom who-can lists as holders of a verb, and whom as lacking only a
// part.
func TestPluginWhoCan(t *testing.T) {
	harness.RunScripts(t, on, "who_can.txtar")
}

// TestPluginVerbs checks that the command verbs lists all verbs of a cluster, including those
// of definitions and protected attributes made at run time.
func TestPluginVerbs(t *testing.T) {
	harness.RunScripts(t, on, "verbs.txtar")
}

// TestPluginExplainDenial checks that the role that explain-denial suggests for a refusal
// allows the refused change, and no similar one.
func TestPluginExplainDenial(t *testing.T) {
	harness.RunScripts(t, on, "explain_denial.txtar")
}

// TestPluginLearned checks what role and report make of an audit log, and their messages about
// bad logs.
func TestPluginLearned(t *testing.T) {
	harness.RunScripts(t, on, "learned.txtar")
}

// TestPluginMatrixScript checks the output formats of matrix, and that the server agrees with
// its cells.
func TestPluginMatrixScript(t *testing.T) {
	harness.RunScripts(t, on, "matrix.txtar")
}

// TestPluginLint checks that the server's behaviour agrees with the mistakes that lint finds.
func TestPluginLint(t *testing.T) {
	harness.RunScripts(t, on, "lint.txtar")
}
