// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbacindex finds the role bindings that name a caller, and the roles that name a
// resource.
//
// RBAC looks through all bindings of a namespace, and all that hold everywhere, for
// each question. A granular request asks several, the ordinary verb first. The informers
// that RBAC reads get an index by subject, and a question asked under For is answered from
// the bindings that the index has for its caller, and from roles with a rule about its
// resource:
//
//	Gate ── For(ctx, request) ─► configured authorizers ──► RBAC ──► listers, getters of this package
//	                                                                  │ under For: by subject, by resource
//	                                                                  └ else: upstream's
//
// What a binding grants, and whether it is about the caller, is still for RBAC to say.
// A Query keeps what was found between the questions about one request, ForSeveral and
// ForMore, for as long as the informers hold nothing else. Only a context leads through
// the configured authorizers to RBAC's listers, so the query travels as a value of it.
//
// The invariant: a list holds every binding about the caller that is there throughout the
// call, a list or a role nothing that upstream's does not hold, and a question that was
// not asked under For is answered as upstream answers it.
//
// The package decides nothing and has no informers of its own.
package rbacindex
