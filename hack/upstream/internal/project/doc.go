// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package project finds a kube-granular checkout and the paths of its files.
//
// It reads only go.mod files and files that a caller names, and writes nothing. All other packages
// of the tool get their paths from this package. They use tree paths as keys. Invariant: a tree path
// is relative to the project's root, and its elements are separated by slashes.
package project
