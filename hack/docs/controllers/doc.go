// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers writes the page of upstream's bootstrap controller roles: which of
// their rights could be granted for each object instead, by whom it was made, and which must
// stay.
//
//	upstream's roles, all feature gates on ──► rights ──► classes ──► page
//	                                                        ▲
//	                             reads and own records by rule, all else by a list
//
// The invariant: each right of each role has exactly one class. A right that upstream adds is
// an error until somebody has thought about it, and so is a line of the list that is about
// nothing any more.
package controllers
