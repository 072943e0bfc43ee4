// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sweep removes delegations that policies issued and that no object refers to any more. An
// object refers to a delegation by an annotation, the stamp. The lease of a delegation is the time
// for which the delegation stays even without such an object.
//
//	lease expired ─► named by an object? ──► ancestor of one that is kept? ───► removed
//	               list of all objects      children of those kept           with precondition
//
// A write that gives an existing delegation to another object first renews the lease of the
// delegation, if half of the lease is over. So when a lease has expired, no write has given the
// delegation to an object for at least half a lease, which is longer than any write takes. The
// objects are listed only after the lease has expired, so the list contains all objects that refer
// to the delegation.
//
// Invariant: a delegation stays if an object refers to it, or if it is an ancestor of a delegation
// that stays. If the objects of a resource can't be listed, all delegations for that resource stay.
package sweep
