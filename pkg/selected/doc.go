// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selected restricts a request to the one role, or the one delegation, that its caller
// selected with the header Authority-Selector.
//
//	authentication ─► impersonation ─► Handler ─► authorization ─► admission, storage
//	 takes a selection   refuses one     reads it        │                │
//	 from identities     as an extra     as a *User      ▼                ▼
//	                                               Authorizer       access reviews, CEL,
//	                                                     │          escalation checks
//	                                                     ▼                │
//	                                        configured: Deny is final     │
//	                                        RBAC: Visit ◄─────────────────┘
//
// What a caller selected is an extra attribute of the user, so it goes wherever the user
// goes: to webhooks and their caches, to access reviews, and to aggregated API servers. In
// this process the user is a *User, which also knows who the caller is without a selection.
// Both read the same: Of.
//
// RBAC has one place where the rules of a user are visited, for decisions and for escalation
// checks alike. For a user who selects, Visit takes that place. It visits the rules of the
// selected role alone, where a binding gives them to the caller, or where the rules of the
// caller cover all of them.
//
// Invariants: whatever is allowed to a caller who selects a role is allowed to the same caller
// without a selection; whatever is allowed to one who selects a delegation is allowed by all
// delegations of its chain, and to its first delegator now, unless that one keeps it.
//
// The package grants nothing and stores nothing. Delegating decides what a delegation is
// made of when it is created; package delegation knows those that there are.
package selected
