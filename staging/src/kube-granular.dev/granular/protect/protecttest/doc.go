// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protecttest is an oracle for tests of protected labels and annotations: it generates
// random writes and computes the expected result in a second, independent way.
//
// Model: an object is a list of slots, each a map of strings. The slots of some resources are
// written by hand. Every verdict is computed by trying all entries.
//
// Invariant: the package shares only the types of entries with package protect. It has no tree, no
// path, no index and no table of copied attributes.
//
// It is for tests only. It reads no clock and uses only the random source that it is given.
package protecttest
