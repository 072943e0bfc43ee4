// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changes finds out which fields a write would change, without writing.
//
//	a file, a patch, a kubectl command ──► Requests
//	a Request ──► the object now, and what a dry run makes of it ──► charged fields
//
// A kubectl command is run against a recorder: a proxy on loopback that lets it read, turns
// every write into a dry run, and refuses whatever can't be one.
//
// What webhooks and the server itself add is not the caller's. So where the caller's own
// change can be computed here, only what is in both counts, as on the server.
//
// The invariant: no request that this package sends changes anything in a cluster, but for
// Write, which serves --apply.
package changes
