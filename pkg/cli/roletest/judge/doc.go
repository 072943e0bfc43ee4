// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package judge runs tests of roles on a server.
//
//	objects of given ──► created, and seen by the authorizer ──┐
//	cases ──► a request of the administrator, as a dry run ────┤
//	      └─► the same request of the subject, as a dry run ───┴──► passed, failed, or an error
//
// The server judges, and not a copy of its rules. The administrator's request shows whether the case
// is a test at all: that the object exists, that the request is valid, and that it changes something.
// The subject authenticates as itself, with a certificate or a token.
//
// The invariant: a case passes only if the server allowed exactly what was expected to be allowed, or
// refused by authorization exactly what was expected to be refused. Every other answer is an error of
// the test. No case changes an object, so the order of cases has no meaning.
//
// The package must be used with a server that nobody needs: it creates and deletes objects there. It
// prints nothing, and no text that it returns contains a field's value.
package judge
