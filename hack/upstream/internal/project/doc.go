// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package project finds a kube-granular checkout and the paths of its files.
//
// It reads only go.mod files and the file that a caller names, and writes nothing. Every
// other package gets its paths from here. Invariant: a tree path, the key that all packages
// of the tool share, is separated by slashes and relative to the project's root.
package project
