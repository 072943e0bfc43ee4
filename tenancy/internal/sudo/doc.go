// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sudo implements kubectl sudo, a plugin that runs a kubectl command with the permissions
// of the sudoer group of a tenant.
//
// The plugin makes no security decisions: the server authorizes the impersonation or the
// delegation. The plugin finds the tenant, and returns an error if the caller is not a sudoer.
// If the status of the tenant has a delegation for the caller, it runs the command by the plugin
// kubectl-with, which selects this delegation. Otherwise, it adds kubectl's impersonation flags.
package sudo
