// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fast compiles one comparison function for each Go type. The function takes the addresses
// of two values of that type.
//
// The package is the only one of the library that uses unsafe. The caller keeps both values alive
// while a compiled function runs. The function only reads, and keeps no address. It compares
// structs word by word. It compares a field by itself only if a word of the field differs, or if
// equal words do not prove the field equal. A Position, which the methods of Object return, does
// contain addresses.
//
// Invariant: a compiled comparison returns the same as the reference comparison by reflection, for
// every pair of values. FuzzFast of package equal checks this. For types without a fast comparison,
// the compiled function calls the reference.
package fast
