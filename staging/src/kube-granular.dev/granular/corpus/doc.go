// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpus reads scenarios: what a caller holds, what it asks for, and
// what must come of it. They are data, so that the library and a running server
// are held to the same.
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
//     needs: ...        what a refusal says is missing
//
// What makes an object of a kind valid lies in base/ as one file for each kind;
// old, new and final are laid over it, null taking something away.
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
// The invariant: a scenario says everything its verdict depends on. The package
// holds no rule of its own: Run asks packages change and decide.
package corpus
