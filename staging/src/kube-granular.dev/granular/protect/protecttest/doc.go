// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protecttest is an oracle for tests of protected labels and annotations: it generates
// random writes and computes the expected result in a second, independent way.
//
// Model: an object is a list of slots, which are maps of labels or of annotations. The package
// lists by hand which slots the objects of a few resources have. It computes every verdict by
// trying all entries, one after the other.
//
// Invariant: the package shares only the types of entries with package protect. It has no tree, no
// path, no index and no table of copied attributes.
//
// It is for tests only. It reads no clock and uses only the random source that it is given.
package protecttest
