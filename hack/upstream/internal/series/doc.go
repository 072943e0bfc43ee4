// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package series reads, checks, applies and writes patch series.
//
// A series is a folder of mail patches and a file named series that lists them in
// order. Beside patches it may list files of markers, which package markers writes into
// sources by names. It may consist of folders, each such a series: then its own file lists those,
// and names the ones that may be left out. Applying is strict: every line of every hunk must stand exactly where
// the patch says. Invariant: Parse and Render are inverse on what Render writes.
// It may not touch the tree; content comes and goes by functions.
package series
