// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report finds rights that nobody used, and those that are wider than their use.
//
//	audit logs ──► learn ──► what each subject used ──┐
//	RBAC       ──► access ──► what each one holds   ──┴──► coarse rights, unused rights
//
// A right is coarse if a subject holds update or patch on a resource, and verbs of single fields
// would have allowed all that it did there. How much it is too wide is counted in permissions:
// those of the resource that the subject would no longer have.
//
// The invariant: a right is called unused only if no request in the logs could have used it.
// The logs may be short; what is used once a year is not in them.
//
// The package asks no server and reads no file.
package report
