// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exclusions finds out what the server itself does to the fields of built-in kinds. It sends
// random objects through the server's own code: defaults, conversions, and the strategies of the
// storage. Exclusions by FieldPermissions depend on that: a field that the server sets is not the
// change of a client.
//
//	random object ──decode──► defaults ──► internal version ──► strategy ──► stored
//	                │                                │                         │
//	                └── filled, lost ────────────────┴── moved ────────────────┘
//
// The invariant: the table builtin.json of package overlay has every effect that a test finds, and
// no resource that the tests do not know.
package exclusions
