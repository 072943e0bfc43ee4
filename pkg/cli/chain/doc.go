// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chain extracts from audit logs which user sent each request, and on behalf of which other
// users.
//
//	log ──► lines ──► events ──► records ──► Filter ──► table, JSON or YAML
//
// A record is one request: the caller, the authority (a role or a delegation) that the caller
// selected for it, and the chain of users who handed over that authority, as the server wrote it
// into the event. If the chain lacks the impersonation or the token of the request, this package
// adds an entry from the user fields of the event, so that every handover has the same form.
//
// The invariant: a line that is not an event is reported and never ignored, and memory does not
// grow with the log, because at most one line is held.
//
// The package sends no requests and trusts the log.
package chain
