// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gate has the Gate, which wraps the configured authorizer of a kube-apiserver and
// authorizes writes field by field.
//
//	             WithAuthorization              create, update, patch
//	request ──► configured: NoOpinion ──► Gate.Fallback ──► marked request
//	             (Deny is final)          verb "granular"        │
//	                                                             ▼
//	                         Gate.Begin ──► Write.Submitted   as the caller sent it
//	                                        Write.Observe     before mutating admission
//	                                        Write.Admitted    after it, of an update
//	                                        Write.Verify      about to be stored
//	                                        Write.Respond     what the caller sees
//
// Fallback marks a request whose caller lacks the ordinary verb (create, update or patch) but
// holds the verb "granular". A Write verifies the fields that one request changes: package change
// computes which permissions the changed fields need, and package decide decides whether the
// caller holds them. This package connects both packages with the API server's objects, errors
// and audit log.
//
// Package convert converts objects to the version of the request. Package redact removes from a
// response what the caller is not allowed to see.
//
// The invariant: a marked request stores nothing that Verify did not accept. A request that is
// not marked can change a field with an excluded permission (one that the ordinary verb does not
// include) only if Verify accepted the change.
//
// The package has no rules of its own about fields, and keeps nothing about a request after the
// end of the request.
package gate
