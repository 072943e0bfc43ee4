// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check finds out which requests in audit logs certain roles would refuse.
//
//	files with roles and bindings ──► verbs on an object ──┐
//	audit logs ──► learn ──► what each request needed ─────┴──► refused, not provable
//
// Package learn decides about each request, by the library that the server uses. This package says
// which verbs the roles grant, and sums up the answers.
//
// The invariant: a request counts as allowed only if the log proves that the roles suffice for it. A
// request whose fields the log does not show is not provable, unless its verb suffices for all fields.
//
// The package knows no server: it sees only roles in files. It does not judge what admission or other
// authorizers would say, the verbs that the server asks for during other requests, such as bind and
// protectedLabel, and requests without a resource.
package check
