// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package intern keeps one copy of values that are the same (an interner).
//
// A Table holds weak pointers: it never keeps a value alive, and forgets the values that
// nobody else holds any longer. Its size follows from how many values were alive at once.
//
// The invariant: of two values that are the same and alive, One returned one address. The
// package knows nothing of what the values are.
package intern
