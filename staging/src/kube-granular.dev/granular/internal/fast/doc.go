// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fast compares values of a Go type strictly, by functions compiled once
// for the type that work on addresses.
//
// It is the one place of the library that uses unsafe. A function made for a
// type is only ever given addresses of values of that very type, which the
// caller keeps alive; it reads and never writes, and keeps no address. Structs
// are compared as words of memory first, and by what a word is a part of where it
// differs. A Found has addresses, for as long as its holder wants.
//
// The invariant: it says what the walk's reference comparison by reflection says,
// for every pair of values. A fuzzer of package equal holds it to that. Types it
// has no fast way for it hands to the reference.
package fast
