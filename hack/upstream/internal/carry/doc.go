// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package carry implements the commands on the patches: apply, refresh, review, verify, rebase.
//
// The wanted content of the tree is the pristine content, changed by the series, with the
// files that the generators write. A command compares this content with the tree or with
// another revision, and changes one of the two. Invariant: a command that fails loses no
// edit and does not change the patches. The command apply may not run git, and may not use
// the network itself.
package carry
