// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package equality makes equality.Semantic.DeepEqual faster. Strategies and validation compare
// objects with this function. Upstream's code walks through the types by reflection at each call.
// This package compiles a comparison once for each type, and then uses the comparison.
//
//	DeepEqual(a, b) ── of equality.Semantic?  one type that is supported?
//	                      no: upstream's own code       yes: the compiled comparison
//
// Invariant: for any two values the result is that of upstream's code, or there is no result and
// upstream's code runs. A type is supported if upstream's code compares its values field by field,
// never panics, and depends only on the two values. So these are not supported: unexported fields,
// interfaces, functions, floating-point numbers, recursive types, and types for which
// equality.Semantic has a function of their own, except quantities, Time, MicroTime and FieldsV1.
//
// The package neither changes nor keeps its arguments. It does not read the feature gate itself:
// the caller passes New a function that does.
package equality
