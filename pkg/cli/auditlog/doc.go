// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package auditlog reads the lines of audit logs.
//
//	file, plain or gzip ──► one line ──► a callback ──► the next line
//
// A log has one event of audit.k8s.io/v1 a line. What an event means is up to whoever reads it.
//
// The invariant: a line that can't be read is reported with its number and never passed over in
// silence, and memory does not grow with the log: one line is held at a time.
//
// The package decodes nothing and asks no server.
package auditlog
