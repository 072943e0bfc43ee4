// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestPluginExplain holds what explain shows of built-in kinds and of custom resources.
func TestPluginExplain(t *testing.T) {
	harness.RunScripts(t, on, "explain.txtar")
}

// TestPluginCanI holds what can-i says of changes in every form, and that it writes nothing.
func TestPluginCanI(t *testing.T) {
	harness.RunScripts(t, on, "can_i.txtar")
}

// TestPluginRole holds the roles that are made for changes: they allow them, and nothing next
// to them.
func TestPluginRole(t *testing.T) {
	harness.RunScripts(t, on, "role.txtar")
}

// TestPluginWhoCan holds who is named as the holder of a verb, and who as nearly that.
func TestPluginWhoCan(t *testing.T) {
	harness.RunScripts(t, on, "who_can.txtar")
}

// TestPluginVerbs holds that all verbs of a cluster are listed, those that were made at run
// time too.
func TestPluginVerbs(t *testing.T) {
	harness.RunScripts(t, on, "verbs.txtar")
}

// TestPluginExplainDenial holds that what is made of a refusal lifts it, and nothing next to it.
func TestPluginExplainDenial(t *testing.T) {
	harness.RunScripts(t, on, "explain_denial.txtar")
}

// TestPluginLearned holds what is learned and reported of an audit log, and the messages about
// logs.
func TestPluginLearned(t *testing.T) {
	harness.RunScripts(t, on, "learned.txtar")
}

// TestPluginMatrixScript holds the forms of the matrix, and that the server agrees with it.
func TestPluginMatrixScript(t *testing.T) {
	harness.RunScripts(t, on, "matrix.txtar")
}

// TestPluginLint holds that the server refuses what lint finds, and takes what it lets pass.
func TestPluginLint(t *testing.T) {
	harness.RunScripts(t, on, "lint.txtar")
}
