// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package equality answers equality.Semantic, by which strategies and validation compare
// objects, with comparisons compiled for each type instead of reflection.
//
//	DeepEqual(a, b) ── of equality.Semantic?  one type, all of which is understood?
//	                      no: upstream's own code       yes: the compiled comparison
//
// The invariant: for every two values the answer is the one upstream's code gives, or
// there is none, and upstream's code is asked. A type is understood if upstream's code
// goes through values of it field by field, and nowhere comes to what it panics over, or
// what is unlike itself or depends on more than the two values: unexported fields,
// interfaces, functions, floating-point numbers, types that lead to themselves, and types
// with an equality function of their own but for those apimachinery brings.
//
// The package changes nothing it is given, keeps nothing of it, and knows no gate: it is
// told whether it is wanted.
package equality
