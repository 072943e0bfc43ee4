// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references finds what the documents name and does not exist: files and headings
// that they link to, and, in their text, tests, attack scripts, files below the folders of
// the repository, and patches.
//
// A decision record tells of its own time, so that what its text names may be gone by now.
// Its links have to lead somewhere all the same.
package references
