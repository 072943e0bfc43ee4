// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gate puts the Gate around the authorizer a cluster configured.
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
// judges the fields: which permissions changed is for package change to say,
// whether they are covered is for package decide; here both meet the API
// server's objects, errors and audit log.
//
// Package convert brings objects into the version of the request, package redact says what an
// answer may show.
//
// The invariant: a marked request stores nothing that Verify did not accept, and
// a request that is not marked changes no excluded permission that Verify did not
// accept.
//
// The package holds no rule of its own about fields, and nothing of a request
// beyond it.
package gate
