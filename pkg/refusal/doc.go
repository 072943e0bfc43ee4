// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refusal is the form in which a refusal tells programs why a write was refused: the causes in
// the details of its status. People read the message of the same status.
//
//	Details ── Causes ──► []metav1.StatusCause, in a 403 ── FromCauses ──► Details
//
// The first cause is one of upstream's types, with the field and a sentence. All others have types of this
// package, and one word each: a verb, a role, a name.
//
// The invariant: the causes tell nothing that the message does not tell, so never the value of a field.
//
// The server writes the causes and clients read them, so the package imports neither.
package refusal
