// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpus reads scenarios: what a caller holds, what it requests, and the
// expected result. Scenarios are data, so the library and a running server are
// tested with the same ones.
//
//   - name: a holder of one label may set it
//     kind: apps/v1 Deployment
//     old: {...}        the object before; absent for a create
//     new: {...}        the object as the caller wants it, after defaulting
//     final: {...}      the object about to be stored, if not new: what webhooks
//     and the strategy made of it
//     unmarked: true    the caller holds the ordinary verb
//     grants: [...]     permission verbs the caller holds, the general one aside
//     decision: Allow   or Forbidden
//     asked: [...]      the verbs the authorizer was asked, in order
//     field: ...        the path a refusal names
//     needs: ...        the missing permission that a refusal names
//
// base/ has a valid object for each kind. old, new and final are overlaid on it; null
// removes a field.
//
// Four fields concern a server alone:
//
//	subresource: status   where the change is sent to
//	reset: true           final is what the strategy of the kind makes of new; else
//	                      a mutating webhook does
//	ways: [put, merge]    how the change may be sent, if not in every way
//	answer: 422           the server's own errors come first: with this code
//	libraryOnly: why      what keeps it from being sent to a server
//
// Invariant: a scenario contains everything that its verdict depends on. The package has
// no rules of its own: Run calls packages change and decide.
package corpus
