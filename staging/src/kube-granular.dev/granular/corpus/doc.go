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
// The invariant: a scenario says everything its verdict depends on. The package
// reads files and decides nothing.
package corpus
