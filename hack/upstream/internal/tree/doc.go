// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree maintains the patched Kubernetes tree on disk, and the manifest, which lists the
// written files.
//
// For every file, the manifest has the size, the modification time and the sum from the last write.
// So a stat is enough to recognise a file without edits.
//
// Invariant: a file is overwritten or removed only if its content is in the manifest, is that of the
// upstream file, or if the caller discards edits. The package must not use patches.
package tree
