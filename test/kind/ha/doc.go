// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ha tests three servers with three etcd members behind a load balancer, where `make kind
// KIND_NODES=3` has made them: the gate is turned off and on server by server, servers and members
// stop, are cut off and run out of disk, while granular and ordinary callers write.
//
//	writers ──► load balancer ──► 3 × kube-apiserver ──► 3 × etcd
//	     └── what was acknowledged, refused, unanswered ──► compared with what is stored
//
// The invariant: what was acknowledged is stored, what was refused is not, and a refusal that a
// caller did not expect has the reason that docs/operations.md says of servers that differ.
//
// The tests are skipped unless `make test-kind-ha` runs them.
package ha
