// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selected restricts a request to the one role that its caller selected with the
// header Authority-Selector.
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
// The invariant: whatever is allowed to a caller who selects is allowed to the same caller
// without a selection.
//
// The package grants nothing and stores nothing. A role is the only authority it knows;
// whatever else a selection refers to is refused.
package selected
