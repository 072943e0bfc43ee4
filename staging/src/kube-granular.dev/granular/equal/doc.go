// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package equal has five comparisons of two values, which differ in how strict they are. The
// column "cached" is about two slices with the same quantity, where only one of the two quantities
// has cached its text.
//
//	            1G, 1e9   nil, {}   cached   used for, or in place of
//	Semantic    equal     equal     equal    equality.Semantic of k8s.io/apimachinery
//	Values      differ    equal     equal    the comparisons of package change
//	Exact       differ    differ    differ   the comparison of structured-merge-diff
//	Bitwise     differ    differ    differ   reflect.DeepEqual
//	JSON        -         differ    -        decoded JSON: maps, slices and scalars
//
// Values and JSON decide what is equal when fields are authorized. A caller without a permission
// for a field must not be able to change even the form of the value, such as 1G to 1e9. The other
// comparisons are for upstream's own work. Each is at least as strict as the one that it replaces.
//
// For a Go type, package fast compiles each comparison once to a function. Each comparison also has
// a slow reference in this package, which uses reflection and defines the right result.
//
// Invariant: for every pair of values, a compiled comparison returns the same as its reference.
// FuzzFast checks this. The package keeps no value, changes none, and starts no goroutine.
package equal
