// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command has the commands of the kubectl plugin kubectl-granular: flags, arguments,
// completion and output. The other packages below pkg/cli implement them.
//
// The commands use the caller's own credentials and permissions.
//
// The invariant: no command but lend writes anything to a cluster without --apply, and lend writes nothing
// with --dry-run.
package command
