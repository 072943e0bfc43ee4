// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package carry is the life of the patches: apply, refresh, review, verify, rebase.
//
// Wanted content is pristine content, changed by the series, with generated files
// as generators wrote them; a command compares that with the tree or with another
// revision and moves one towards the other. Invariant: a command that fails has
// lost no edit and has left the patches as they were. It may not run git, or touch
// the network, for apply.
package carry
