// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pages visits the objects of a list that a server sends page by page.
//
//	list function of a client ──► pages ──► objects, one at a time
//
// The invariant: Each visits all objects of a list, or returns an error.
//
// The package knows no kind of objects, and has no client of its own.
package pages
