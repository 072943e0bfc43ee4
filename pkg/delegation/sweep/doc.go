// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sweep garbage-collects delegations that policies issued and that no object names any
// more.
//
//	lease expired ─► named by an object? ──► ancestor of one that is kept? ───► removed
//	               list of all objects      children of those kept           with precondition
//
// A write that gives an existing delegation to another object renews its lease first, if half of
// the lease is over. So a delegation with an expired lease was given to no object for at least
// half a lease, which is longer than any write takes. The list that is read after that contains
// all objects that name it.
//
// Invariant: no delegation is removed that an object names, nor an ancestor of such a delegation.
// If the objects of a resource can't be listed, no delegation for that resource is removed.
package sweep
