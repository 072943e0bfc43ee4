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

// TestPluginExact checks the roles of role --exact: they allow their change, and neither that of another
// key of the domain nor that of another container.
//
// Attack: using the verb for one annotation on another of its domain, or the verb for one image on another container
// Answer: 403, the permission covers one key only
func TestPluginExact(t *testing.T) {
	harness.RunScripts(t, on, "exact.txtar")
}

// TestPluginWhoCan checks which subjects who-can lists as holders of a verb, and which as
// subjects that lack just one thing, such as the verb granular.
func TestPluginWhoCan(t *testing.T) {
	harness.RunScripts(t, on, "who_can.txtar")
}

// TestPluginMetadata checks what the commands say about the verb readmetadata, and that the server decides
// as they say.
func TestPluginMetadata(t *testing.T) {
	harness.RunScripts(t, on, "metadata.txtar")
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

// TestPluginCheck checks that check accepts the role that was learned from a log, and names each verb
// that is taken away from it, as the server does.
func TestPluginCheck(t *testing.T) {
	harness.RunScripts(t, on, "check.txtar")
}

// TestPluginMatrixScript checks the output formats of matrix, and that the server agrees with
// its cells.
func TestPluginMatrixScript(t *testing.T) {
	harness.RunScripts(t, on, "matrix.txtar")
}

// TestPluginLint checks that the server rejects the objects in which lint finds errors, and
// accepts those in which it finds none.
func TestPluginLint(t *testing.T) {
	harness.RunScripts(t, on, "lint.txtar")
}

// TestPluginStored checks that the server warns the author of a definition that loses a field, and
// that the command lists the objects that store the field.
func TestPluginStored(t *testing.T) {
	harness.RunScripts(t, on, "stored.txtar")
}

// TestPluginGateOff checks that, with the gate off, the first line of each command says so, and that the
// commands that need no single fields work.
func TestPluginGateOff(t *testing.T) {
	off := harness.Start(t, "--feature-gates", "GranularAuthorization=false")
	harness.RunScripts(t, off, "gate_off.txtar")
}

// TestPluginRoleAdmission checks that an admission plugin wants what the comments of a role say.
func TestPluginRoleAdmission(t *testing.T) {
	strict := harness.Start(t, "--", "--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
	harness.RunScripts(t, strict, "role_admission.txtar")
}

// TestPluginUI checks the data of the page: what a caller may read, what is unknown to others, refused requests of
// an audit log, and files without a cluster.
func TestPluginUI(t *testing.T) {
	harness.RunScripts(t, on, "ui.txtar")
}

// TestPluginLend checks what lend prints before it makes anything, that a client which knows only the
// kubeconfig has the lent permissions and no others, that revoking ends them, and that a step that fails
// leaves nothing.
//
// Attack: writing the token of an account to a terminal, or to a file that others can read
// Answer: lend writes only to a new file with the mode 0600, or with --print
//
// Attack: the token of a renewed loan gets into a log, because `lend --renew -o yaml` is asked for what it would make
// Answer: got through; now it prints the delegation, and makes no token
func TestPluginLend(t *testing.T) {
	harness.RunScripts(t, on, "lend.txtar")
}

// TestPluginLendToken checks what lend says of a token that the server shortens, and that a token that lives longer than
// its delegation only authenticates.
//
// Attack: using a token that outlives its delegation
// Answer: 403, it only authenticates
func TestPluginLendToken(t *testing.T) {
	short := harness.Start(t, "--feature-gates", "SelectedAuthority=true,AuthorityDelegation=true", "--", "--service-account-max-token-expiration=1h")
	harness.RunScripts(t, short, "lend_token.txtar")
}

// TestPluginFieldPermission checks the plan of a FieldPermission, and that every command knows its entries.
func TestPluginFieldPermission(t *testing.T) {
	harness.RunScripts(t, on, "field_permission.txtar")
}

// TestPreflight checks the list of what a rollback would open, lose and leave behind.
func TestPreflight(t *testing.T) {
	harness.RunScripts(t, on, "preflight.txtar")
}

// TestPluginFieldPermissionTemplates checks what the commands say about entries of pods in pod templates, and that the
// server decides as they say.
func TestPluginFieldPermissionTemplates(t *testing.T) {
	harness.RunScripts(t, on, "field_permission_templates.txtar")
}
