// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation indexes the AuthorityDelegations of a server, and decides which requests
// they allow.
//
//	requests, list and watch ─► mirror ─► Index ─► Chain: from the delegation that a caller selects
//	                                               to the one whose delegator's own authority is used
//
// If a user selects a delegation and then creates another one, the new delegation has the selected
// one as its parent. A delegation and all its ancestors are a chain. Whenever the chain is used,
// all of its delegations must exist and be valid, and the delegates, scope, rules, conditions and
// expiration of each of them apply. So a chain never allows more than any of its delegations.
//
// Right before the object of a write is stored, the chain is verified a second time. A Commit
// covers the time from that check until the object is stored. A request that deletes a delegation
// is answered only after all Commits that began before the deletion have ended.
//
// The invariant: a delegation that is unknown, or has a condition that does not compile, allows
// nothing, and a condition that fails refuses the write.
//
// The package asks no authorizer. Package selected asks what the delegator is allowed.
package delegation
