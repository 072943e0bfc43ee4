// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access finds out which fields of a request a caller may change, and which subjects hold
// a permission verb.
//
//	a dry run   ──► an access review for each verb ──► which fields are allowed, and why
//	RBAC objects ──► who holds a verb, and who almost does
//
// A request is evaluated with the server's own library and in the server's order: first the
// ordinary verb, then the verb granular, which lets the caller write field by field, and then for
// each changed field the permissions that cover it, from general to specific. Where the server
// asks an authorizer, this package sends an access review. The server's answer to a dry run is
// shown too, and takes precedence over the evaluation.
//
// The invariant: a field is reported as allowed only if an access review, or the server's answer
// to a dry run, allows it.
package access
