// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package series reads, checks, applies and writes patch series.
//
// A series is a folder of mail patches and a file named series that lists them in
// order. The file may also list files of markers: package markers writes those markers
// into the sources, and finds the places by the names of types and fields. A series may
// instead consist of folders, each of them a list of patches. Its file then lists the folders
// and marks the optional ones. Applying is strict: every line of every hunk must be exactly
// at the line that the patch names. Invariant: Parse reads what Render writes without loss.
// The package may not read or write the tree: callers pass content in and out.
package series
