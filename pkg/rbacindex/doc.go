// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbacindex makes RBAC faster: RBAC finds the bindings of a caller by an index, and skips
// roles without a rule for the resource of the request.
//
// For each authorization check, upstream's RBAC examines all bindings of the namespace and all
// cluster role bindings. A request that is authorized by single fields needs several checks, the
// first one for the ordinary verb. So the informers that RBAC reads get an index by subject. A
// check with a context from For reads only the bindings of its caller, and sees a role without a
// rule for its resource as empty:
//
//	Gate ── For(ctx, request) ─► configured authorizers ──► RBAC ──► listers, getters of this package
//	                                                                  │ under For: by subject, by resource
//	                                                                  └ else: upstream's
//
// RBAC still decides whether a binding includes the caller and what the binding grants. A Query
// caches the results between the checks of one request (ForSeveral, ForMore) until the informers
// change. The Query is a context value, because nothing but the context passes through the
// configured authorizers to RBAC's listers.
//
// The invariant: a list includes every binding of the caller that exists from the start to the end
// of the call; no list contains a binding, and no role a rule, that upstream's listers and getters
// would not return; and a check without a context from For is decided as upstream decides it.
//
// The package decides nothing and has no informers of its own.
package rbacindex
