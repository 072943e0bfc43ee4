// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package denial finds out why a request was refused: from the text of a 403, as kubectl prints
// it, or from an event of an audit log.
//
//	text, or a log and an audit ID ──► who, which object, which field, which verbs
//
// The invariant: nothing is guessed. A field of Denial stays empty if the text does not contain it.
//
// The package uses no schema and sends no requests.
package denial
