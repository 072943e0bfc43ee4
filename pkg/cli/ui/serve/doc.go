// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serve serves the page of kubectl granular ui on loopback, to the browser of one user.
//
//	address with a token ──► cookie, once ──► page, snapshot, answers
//
// The invariant: a request gets an answer only if it names the server by its own address (against DNS
// rebinding), has the cookie, does not come from another origin, and reads. The token works once. The cookie
// counts only below a path that nobody else knows, for cookies do not tell the ports of a host apart.
//
// The package knows no Kubernetes. It writes nothing but answers.
package serve
