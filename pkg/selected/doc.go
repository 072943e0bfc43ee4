// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selected restricts what a request is allowed to do to the rules of one role, or of one
// delegation, which the caller selected with the header Authority-Selector.
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
// The selection is an extra attribute of the user, so it goes wherever the user goes: to webhooks
// and their caches, to access reviews, and to aggregated API servers. In this process the user is
// a *User, which also knows the caller without the selection. UserOf accepts a user in either form.
//
// RBAC reads the rules of a user in one place of its code, for decisions and for escalation checks
// alike. For a user with a selection, RBAC calls Visit there instead. Visit returns only the rules
// of the selected role, and only if a binding gives that role to the caller, or if the caller's
// other rules cover all rules of the role. For a selected delegation, it returns the rules of the
// delegation.
//
// Invariants: a request that is allowed with a selected role is allowed to the same caller
// without a selection. A request that is allowed with a selected delegation is allowed by all
// delegations of its chain, and to the first delegator now, unless the first delegation has
// ifLost: Keep.
//
// The package grants nothing and stores nothing. Package issue fills in a delegation when it is
// created; package delegation indexes the existing ones.
package selected
