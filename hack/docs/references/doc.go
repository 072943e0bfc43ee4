// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references finds broken references in the documents: links to files and headings, and
// names of tests, attack scripts, files of the repository and patches in the text.
//
// A decision record describes the state of its time, so its text may name tests, files and patches
// that no longer exist. Its links must still be valid.
package references
