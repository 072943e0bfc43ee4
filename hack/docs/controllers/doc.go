// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers generates the page about upstream's bootstrap roles of controllers. The page
// lists which permissions of a controller could be replaced by a delegation from the user who
// writes an object, for that object alone, and which permissions must stay.
//
//	upstream's roles, all feature gates on ──► permissions ──► classes ──► page
//	                                                             ▲
//	              reads and own records by general rules, all others by a list
//
// The invariant: each permission of each role has exactly one class. A permission that upstream
// adds is an error until it is classified. An entry of the list that matches no permission is an
// error too.
package controllers
