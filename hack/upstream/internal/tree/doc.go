// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree maintains the materialised tree and the manifest: the list of written files.
//
// For every file the manifest has the size, time and sum from the last write. So stat is
// enough to recognise a file without edits.
// Invariant: a file is overwritten or removed only if its content is known, by the
// manifest or as pristine, or if the caller discards edits. The package may not
// use patches.
package tree
