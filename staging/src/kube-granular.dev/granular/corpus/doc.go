// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpus reads and runs scenarios. Each says what a caller holds, what the caller requests,
// and what the expected result is.
// Scenarios are data, so the library and a running server are tested with the same scenarios.
//
//   - name: a holder of one label may set it
//     kind: apps/v1 Deployment
//     old: {...}        the object before; absent for a create
//     new: {...}        the object as the caller wants it, after defaulting
//     final: {...}      the object about to be stored, if webhooks or the strategy change new
//     unmarked: true    the caller holds the ordinary verb
//     grants: [...]     permission verbs that the caller holds, except the general verb
//     decision: Allow   or Forbidden
//     asked: [...]      the verbs that the authorizer is asked for, in order
//     field: ...        the path that a refusal names
//     needs: ...        the part of the refusal that names what is missing
//
// The folder base has a valid object for each kind. old, new and final are overlaid on this
// object; null removes a field.
//
// These fields are only for a server:
//
//	subresource: status   the subresource that the change is sent to
//	reset: true           the strategy of the kind makes final from new; without
//	                      reset, a mutating webhook does
//	ways: [put, merge]    how the change may be sent, if not in every way
//	answer: 422           the HTTP code, if the server refuses the request before it
//	                      authorizes fields
//	libraryOnly: why      the reason why the scenario can't be sent to a server
//
// Invariant: a scenario contains everything that its result depends on. The package has no rules
// of its own: Run calls packages change and decide.
package corpus
