// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sweep removes delegations that policies caused and no object names any more.
//
//	lease over ──► named by an object? ──► one that another was made under? ──► removed
//	               list of all objects      children of what stays                as it was read
//
// A write that gives a delegation to an object once more renews its lease first, if half of it
// is over. So what is swept was given to no object for half of a lease, which is longer than
// any write takes, and the list that is read after that has all objects that name it.
//
// Invariant: what an object names, and what that was made under, is not removed. Where objects
// can't be listed, nothing is that they may name.
package sweep
