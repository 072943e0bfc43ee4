// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sudo is the kubectl plugin that runs a command as the sudoer group of a tenant.
//
// It decides nothing: the server checks the impersonation, or the delegation. The plugin finds
// the tenant, says early when the caller is no sudoer, and writes the flags, or has the plugin
// kubectl-with select the delegation that the status of the tenant names.
package sudo
