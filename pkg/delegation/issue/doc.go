// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package issue decides which delegations are created, with which content, and checks each write
// once more right before its object is stored.
//
//	a user creates a delegation ──────► Issuer ◄─────────── PolicyIssuer ◄─── FinalChecks
//	an administrator writes a policy ──►  │   may the caller give this away?        │
//	                                      ▼                                         ▼
//	                 status: delegator, rules, history          a stamp in the object, and the chain
//	                                                            of the selected delegation again
//
// A delegation gives away permissions of its creator. Issuer confirms that the creator holds them,
// and fills in the status. If a policy requires a delegation for an object that a user writes,
// PolicyIssuer creates the delegation on behalf of that user, and writes a reference to it, the
// stamp, into the object.
//
// Invariants: a delegation contains only permissions that its creator holds when it is created, or
// that authorizers check at each use, because the creator holds the verb "delegate". A delegation
// that is created under a selected one has its conditions, and does not outlive it. Only a
// PolicyIssuer writes stamps.
//
// The package decides about no request. Package selected does that, and package delegation indexes
// the delegations.
package issue
