// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gate wraps the configured authorizer of a cluster with the Gate.
//
//	             WithAuthorization              create, update, patch
//	request ──► configured: NoOpinion ──► Gate.Fallback ──► marked request
//	             (Deny is final)          verb "granular"        │
//	                                                             ▼
//	                         Gate.Begin ──► Write.Submitted   as the caller sent it
//	                                        Write.Observe     before mutating admission
//	                                        Write.Verify      about to be stored
//	                                        Write.Respond     what the caller sees
//
// Fallback decides whether a request may be considered field by field. A Write
// verifies the fields: package change computes which permissions changed, and package
// decide decides whether they are covered. This package connects both with the API
// server's objects, errors and audit log.
//
// Package convert converts objects to the version of the request. Package redact removes from
// a response what the caller may not see.
//
// The invariant: a marked request stores nothing that Verify did not accept, and
// a request that is not marked changes no excluded permission that Verify did not
// accept.
//
// The package has no rules of its own about fields, and keeps nothing after a request.
package gate
