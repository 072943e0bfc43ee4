// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changes finds out which fields a write would change, by dry runs.
//
//	a file, a patch, a kubectl command ──► Requests
//	a Request ──► the current object, and the result of a dry run ──► changed fields
//
// A kubectl command is run against a recorder: a proxy on loopback that forwards reads, turns
// every write into a dry run, and refuses other requests.
//
// Fields that webhooks or the server add are not changes of the caller. So if this package can
// compute the object that the request asks for, it returns only the fields that differ from the
// current object both in the requested object and in the result of the dry run. The server selects
// the fields to authorize in the same way, and also excluded fields that it changes itself in an update
// (ADR 0117). This package does not find those.
//
// The invariant: this package sends only reads and dry runs, except in Write, which implements
// --apply.
package changes
