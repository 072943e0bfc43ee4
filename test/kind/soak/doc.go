// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command soak loads a cluster for an hour, and tells whether kube-apiserver leaks, fails or
// gets slower.
//
//	20 operators with granular verbs ──┐
//	churn: definitions, roles, namespaces ├──► server, gate on ──► samples of its memory, goroutines, trees
//	an ordinary caller, in turn ───────┴──► server, gate off, on the same etcd
//
// The second server is a control: what both grow by is Kubernetes' own, and a latency is told as
// a ratio of two that were measured in one run.
//
// The invariant: every answer is foretold. A write that is refused and should not be, or is stored
// and should not be, ends the run with an error, and so does a status of 500 and above.
package main
