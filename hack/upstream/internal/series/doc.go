// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package series reads, checks, applies and writes patch series.
//
// A series is a folder of mail patches with a file named series that lists them in order. The file
// may also list files of markers. Markers are comments in Go sources that declare permissions;
// package markers writes them, and finds the positions by the names of types and fields. A series
// may instead consist of folders, each with its own list of patches. Its file named series then
// lists the folders, and marks folders that may be left out as optional.
//
// Applying is strict: every line of every hunk must be exactly at the line number in the patch.
// Invariant: Parse reads the output of Render without loss. The package must not read or write the
// patched tree: callers pass content in and out.
package series
