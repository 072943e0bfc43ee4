// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbacindex lets RBAC find the bindings of a caller, and the roles with a rule for a
// resource, by an index.
//
// For each authorization RBAC examines all bindings of the namespace and all cluster role
// bindings. A granular request needs several authorizations, the first one for the ordinary verb.
// So the informers that RBAC reads get an index by subject. An authorization with a context from
// For reads only the bindings of its caller, and only roles with a rule for its resource:
//
//	Gate ── For(ctx, request) ─► configured authorizers ──► RBAC ──► listers, getters of this package
//	                                                                  │ under For: by subject, by resource
//	                                                                  └ else: upstream's
//
// RBAC still decides whether a binding includes the caller and what it grants. A Query caches the
// results between the authorizations of one request (ForSeveral, ForMore) until the informers
// change. Only the context reaches RBAC's listers through the configured authorizers, so the
// query is a context value.
//
// The invariant: a list includes every binding of the caller that exists throughout the call; a
// list or a role contains nothing that upstream's does not; and an authorization without a
// context from For is decided as upstream decides it.
//
// The package decides nothing and has no informers of its own.
package rbacindex
