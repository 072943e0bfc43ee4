// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package intern keeps one copy of equal values (an interner).
//
// A Table holds weak pointers. It never keeps a value alive, and drops values that nobody else
// holds. Its size is bounded by the number of values that were alive at once.
//
// Invariant: for two equal values that are alive, One returned the same address. The package
// knows nothing about the values.
package intern
