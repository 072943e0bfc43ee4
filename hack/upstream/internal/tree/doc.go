// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree keeps the materialised tree and the manifest of what was written.
//
// The manifest holds, for every file, the size, time and sum it had when it was
// last written, so that a stat tells an untouched file from an edited one.
// Invariant: a file is overwritten or removed only if its content is known, by the
// manifest or as pristine, or if the caller discards edits. It may not know what a
// patch is.
package tree
