// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package equal has five comparisons of two values, which differ in how strict they are. The
// column "cached" compares slices with the same quantity, which only in one of them has cached its
// text.
//
//	            1G, 1e9   nil, {}   cached   used for, or in place of
//	Semantic    equal     equal     equal    equality.Semantic of k8s.io/apimachinery
//	Values      differ    equal     equal    the change walk of package change
//	Exact       differ    differ    differ   the comparison of structured-merge-diff
//	Bitwise     differ    differ    differ   reflect.DeepEqual
//	JSON        -         differ    -        decoded JSON: maps, slices and scalars
//
// Values and JSON decide what is equal when fields are authorized: a caller must not be able to
// rewrite a field that it may not write into another form with the same meaning. The other
// comparisons are for upstream's own work. Each is at least as strict as the one it replaces.
//
// For a Go type, package fast compiles each comparison once to a function. Each comparison also has
// a slow reference in this package, which uses reflection and defines the right result.
//
// Invariant: for every pair of values, a compiled comparison returns the same as its reference.
// FuzzFast checks this. The package keeps no value, changes none, and starts no goroutine.
package equal
