// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fast compares two values of the same Go type quickly. For each type it compiles one
// function, which gets the addresses of the two values.
//
// It is the only package of the library that uses unsafe. A function compiled for a type takes
// addresses of values of that type, which the caller keeps alive. The function only reads, and
// keeps no address. Structs are compared word by word. Only where two words differ, the fields to
// which the words belong are compared. A Position holds addresses as long as its owner keeps it.
//
// Invariant: for every pair of values, a compiled comparison returns the same as the reference
// comparison by reflection. A fuzz test of package equal checks this. Types without a fast
// comparison are compared by the reference.
package fast
