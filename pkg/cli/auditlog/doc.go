// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package auditlog reads audit logs.
//
//	file, plain or gzip ──► one value ──► unwrapped ──► a callback ──► the next value
//
// A log has one event of audit.k8s.io/v1 on each line, or JSON over several lines. Log services put
// an event inside a record of their own, which is unwrapped. The callback (Reader.Use) decodes the
// event.
//
// The invariant: a value that can't be read is reported with its place and never ignored, and
// memory does not grow with the log, because only one value is held at a time.
//
// The package uses no fields of events but their version and kind, and sends no requests.
package auditlog
