// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package equality makes equality.Semantic.DeepEqual faster, with which strategies and validation
// compare objects: comparisons that are compiled for each type replace upstream's reflection.
//
//	DeepEqual(a, b) ── of equality.Semantic?  one type that is supported?
//	                      no: upstream's own code       yes: the compiled comparison
//
// Invariant: for any two values the result is that of upstream's code, or there is no result
// and upstream's code runs. A type is supported if upstream's code compares its values field by
// field, never panics, and depends only on the two values. So these are not supported:
// unexported fields, interfaces, functions, floating-point numbers, recursive types, and types
// with their own equality function, except those that apimachinery defines.
//
// The package changes and keeps none of its arguments. It does not read the feature gate: the
// caller of New does.
package equality
