// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sudo implements the kubectl plugin that runs a command as the sudoer group of a tenant.
//
// The plugin makes no security decisions: the server authorizes the impersonation or the
// delegation. The plugin finds the tenant and returns an error if the caller is not a sudoer.
// Then it adds the flags of impersonation, or runs the plugin kubectl-with to select the
// delegation in the status of the tenant.
package sudo
