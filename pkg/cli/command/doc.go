// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command holds the commands of the kubectl plugin kubectl-granular: flags, arguments,
// completion, and what they print. What they find out is in the packages beside it.
//
// The commands ask the server as the caller, with the rights and the limits of the caller's own
// credentials.
//
// The invariant: no command writes anything to a cluster but with --apply.
package command
