// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation indexes the AuthorityDelegations of a server, and decides which requests
// they allow.
//
//	storage ─► Observed ─┐
//	                     ├─► Index ─► Chain: from the delegation that a caller selects to the
//	watch ─► reflector ──┘            one whose delegator's own authority is used
//
// A delegation that was created by a user who selected another delegation belongs to a chain.
// Whenever a chain is used, all of its delegations must exist and be valid. Each has its
// delegates, scope, rules, conditions and expiration, and all of them apply. So a chain never
// allows more than any of its links.
//
// A write verifies its chain a second time right before it is stored, and holds a Commit until
// then. A request that deletes a delegation is answered after all Commits that began before it
// have ended.
//
// The invariant: a delegation that is unknown, does not compile or fails allows nothing.
//
// The package asks no authorizer. Package selected asks what the delegator may do.
package delegation
