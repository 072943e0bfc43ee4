// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command soak puts load on a cluster for a long time, and reports whether kube-apiserver leaks
// memory, fails or gets slower.
//
//	20 operators with granular verbs ────────────────┐
//	callers that what each gate protects refuses ────┤
//	churn: definitions, roles, namespaces,           │
//	       delegations, tenants ─────────────────────┼──► server, gates on ──► samples of its memory, goroutines, trees
//	an ordinary caller, in turn ─────────────────────┴──► server, gates off, on the same etcd
//
// The second server is a control. Growth that both servers show is Kubernetes' own. Latencies
// are reported as the ratio of the two servers in the same run.
//
// The invariant: the result of each request is known in advance. The run ends with an error if
// a write is refused that must be allowed, or stored that must be refused, or if an answer has
// a status of 500 and above.
package main
