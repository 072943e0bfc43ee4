// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chain extracts from audit logs who did what, on whose behalf.
//
//	log ──► lines ──► events ──► records ──► Filter ──► table, JSON or YAML
//
// A record is one request: the caller, the selected authority, and the chain of users who handed
// over that authority, as the server wrote it into the event. Impersonation and tokens that are
// not in the chain are taken from the users of the event, so that every handover has the same
// form.
//
// The invariant: a line that is not an event is reported and never ignored, and memory does not
// grow with the log, because at most one line is held.
//
// The package sends no requests and trusts the log.
package chain
