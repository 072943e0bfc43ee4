// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package carry implements the commands on the patches: apply, refresh, review, verify, export and
// rebase.
//
// The tree is the patched Kubernetes source in upstream/. Its wanted content is the pristine
// content (that of the upstream modules), changed by the patch series, with the files that code
// generators write. A command compares the wanted content with the files on disk or with another
// revision, and then changes the files on disk or the patches. Invariant: a command that fails
// loses no edit of the tree, and does not change the patches. The command apply must not run git
// or use the network itself.
package carry
