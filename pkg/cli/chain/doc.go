// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chain reads from audit logs who did what, on whose behalf.
//
//	log ──► lines ──► events ──► records ──► Filter ──► table, JSON or YAML
//
// A record is one request: the caller, the authority that it selected, and the chain of those
// through whom that authority came, as the server wrote it into the event. Impersonation and
// tokens that the server did not write into a chain are taken from the event's users, so that
// all handing over of authority reads alike.
//
// The invariant: a line that can't be read as an event is reported and never passed over in
// silence, and memory does not grow with the log: at most one line is held.
//
// The package asks no server. Whether what a log says is true is up to whoever keeps the log.
package chain
