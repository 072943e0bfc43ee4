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
// What a caller selected is an extra attribute of the user, so it goes wherever the user goes: to
// webhooks and their caches, to access reviews, and to aggregated API servers. In this process
// the user is a *User, which also knows who the caller is without a selection. UserOf reads both.
//
// RBAC visits the rules of a user in one place, for decisions and for escalation checks alike.
// For a user who selects, it calls Visit instead. It visits the rules of the selected role alone,
// if a binding gives the role to the caller, or if the caller's other rules cover all of them.
//
// Invariants: a request that is allowed with a selected role is allowed to the same caller
// without a selection. A request that is allowed with a selected delegation is allowed by all
// delegations of its chain, and to the first delegator now, unless the first delegation has
// ifLost: Keep.
//
// The package grants nothing and stores nothing. Issuer fills in a delegation when it is created;
// package delegation indexes the existing ones.
package selected
