// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access finds out who may do what.
//
//	a dry run   ──► an access review for each verb ──► which fields are allowed, and why
//	RBAC objects ──► who holds a verb, and who almost does
//
// A request is evaluated as the server does it: the ordinary verb first, then granular, then for
// each changed field the permissions that cover it, from general to specific. The server's own
// library does this here too; only the authorizer is asked through access reviews. The server's
// answer to a dry run is shown too, and takes precedence.
//
// The invariant: a field is reported as allowed only if an access review, or the server's answer
// to a dry run, allows it.
package access
