// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sudo implements kubectl sudo, a plugin that runs a kubectl command with the permissions
// of the sudoer group of a tenant.
//
// The plugin makes no security decisions: the server authorizes the impersonation or the
// delegation. The plugin finds the tenant that the command is for. If the status of its LNamespace
// has a delegation for the caller, the plugin runs the command through another plugin,
// kubectl-with, which selects this delegation. If there is none, the plugin runs the command with
// kubectl's impersonation flags, or returns an error if the caller may not impersonate the sudoer
// group.
package sudo
