// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fast compares values of a Go type strictly, by functions compiled once
// for the type that work on addresses.
//
// It is the only package of the library that uses unsafe. A function compiled for a
// type takes addresses of values of that type, which the caller keeps alive. It only
// reads, and keeps no address. Structs are compared word by word; only where two
// words differ are the fields compared that they belong to. A Position holds
// addresses as long as its owner keeps it.
//
// Invariant: a compiled comparison returns the same as the reference comparison by
// reflection, for every pair of values. A fuzz test of package equal checks that.
// Types without a fast comparison are compared by the reference.
package fast
