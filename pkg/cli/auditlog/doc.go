// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package auditlog reads the lines of audit logs.
//
//	file, plain or gzip ──► one line ──► a callback ──► the next line
//
// A log has one event of audit.k8s.io/v1 per line. The callback (Reader.Use) decodes the event.
//
// The invariant: a line that can't be read is reported with its number and never ignored, and
// memory does not grow with the log, because only one line is held at a time.
//
// The package decodes no events and sends no requests.
package auditlog
