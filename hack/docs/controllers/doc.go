// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers generates the page of upstream's bootstrap controller roles: which of their
// permissions could be granted for each object instead by the user who made the object, and which
// must stay.
//
//	upstream's roles, all feature gates on ──► permissions ──► classes ──► page
//	                                                             ▲
//	              reads and own records by general rules, all others by a list
//
// The invariant: each permission of each role has exactly one class. A permission that upstream
// adds is an error until it is classified, and so is an entry of the list that matches nothing.
package controllers
