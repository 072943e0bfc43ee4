// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package denial reads why a request was refused: from the text of a 403, as kubectl prints it,
// or from the event of an audit log.
//
//	text, or a log and an audit ID ──► who, which object, which field, which verbs
//
// The invariant: nothing is guessed. What a text does not say is left empty.
//
// The package knows no schema and asks nobody.
package denial
