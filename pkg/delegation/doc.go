// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation knows the AuthorityDelegations of a server, and what each leaves of the
// authority that it hands on.
//
//	storage ─► Observed ─┐
//	                     ├─► Index ─► Chain: from the delegation that a caller selects to the
//	watch ─► reflector ──┘            one whose delegator's own authority is used
//
// A delegation that was made by somebody who selected another belongs to a chain. All
// delegations of a chain must be there and hold, whenever it is used: each has its
// delegates, scope, rules, conditions and end, and all of them apply. So a chain is never
// wider than any of its links, whatever is written in them.
//
// A write looks at its chain a second time right before it is stored, and from there on holds
// a Commit. Who deletes a delegation is answered after all Commits that began before have
// ended.
//
// The invariant: whatever is not known, does not compile, or fails, allows nothing.
//
// The package asks no authorizer. What the delegator may do is for package selected to ask.
package delegation
