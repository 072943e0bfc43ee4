// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report finds unused permissions, and permissions that are wider than their use.
//
//	audit logs ──► learn ──► usage of each subject ──┐
//	RBAC       ──► access ──► rules of each subject ──┴──► coarse and unused permissions
//
// A permission is coarse if a subject holds update or patch on a resource, although verbs of single
// fields would have allowed all its requests. The report counts how many permissions of the
// resource the subject would lose if it held only these verbs.
//
// The invariant: a permission is reported as unused only if no request in the logs could have
// used it. A permission that is used rarely may be reported if the logs cover only a short time.
//
// The package sends no requests and reads no files.
package report
