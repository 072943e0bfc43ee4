// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ha tests a cluster of three servers and three etcd members behind a load balancer,
// which `make kind KIND_NODES=3` creates. While granular and ordinary callers write, the tests
// turn gates off and on on one server after the other, replace servers by upstream's, stop
// servers and members, cut them off, and fill their disks.
//
//	writers ──► load balancer ──► 3 × kube-apiserver ──► 3 × etcd
//	     └── what was acknowledged, refused, unanswered ──► compared with what is stored
//
// The invariant: every acknowledged write is stored, and no refused write is. If a caller is
// refused unexpectedly, docs/operations.md explains the refusal by servers that differ.
//
// The tests are skipped unless `make test-kind-ha` runs them.
package ha
