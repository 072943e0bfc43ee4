// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access asks who may do what.
//
//	a rehearsed request ──► an access review for each verb ──► which fields are allowed, and why
//	RBAC's objects      ──► who holds a verb, and who nearly does
//
// A request is judged as the server does it: the ordinary verb first, then granular, then for
// each changed field the permissions that cover it, general to specific. The library that the
// server decides by does it here too; only the authorizer is asked through access reviews. What
// the server itself says to a dry run is shown beside it, and is the last word.
//
// The invariant: nothing is called allowed for which no access review said so.
package access
