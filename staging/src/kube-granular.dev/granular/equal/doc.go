// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package equal has five comparisons of two values, which differ in how strict they are. The
// column "cached" compares two equal quantities in a slice, of which only one caches its text.
//
//	            1G, 1e9   nil, {}   cached   used for, or in place of
//	Semantic    equal     equal     equal    equality.Semantic of k8s.io/apimachinery
//	Values      differ    equal     equal    the change walk of package change
//	Exact       differ    differ    differ   the comparison of structured-merge-diff
//	Bitwise     differ    differ    differ   reflect.DeepEqual
//	JSON        -         differ    -        decoded JSON: maps, slices and scalars
//
// Values and JSON decide whether a field changed when Kubernetes authorizes single fields. Both
// compare representations, because a caller that may not write a field must not rewrite its value
// into another form with the same meaning. The other three replace comparisons in Kubernetes
// itself. Each is at least as strict as the comparison that it replaces.
//
// For Go types, package fast compiles one comparison function per type. The reference for each
// compiled function is a comparison by reflection in this package.
//
// Invariant: a compiled comparison returns the same result as its reference, for every pair of
// values. FuzzFast checks this. The package keeps and changes no value, and starts no goroutine.
package equal
