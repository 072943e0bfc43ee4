// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package denial finds out why a request was refused: from the status of a 403, from its message, as
// kubectl prints it, or from an event of an audit log.
//
//	status, text, or a log and an audit ID ──► who, which object, which field, which verbs
//
// The causes of a status tell all of it. The message is parsed where there is nothing else: kubectl prints
// no causes, and older servers and other authorizers send none.
//
// The invariant: nothing is guessed. A field of Denial stays empty if the input does not contain it.
//
// The package uses no schema and sends no requests.
package denial
