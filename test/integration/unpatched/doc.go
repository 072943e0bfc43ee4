// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unpatched runs a kube-apiserver without patches beside ours, on the same etcd, as
// during a rollout or a rollback. It checks how each server treats the objects that the other
// has stored.
//
// The tests need bin/kube-apiserver-unpatched, a second build of Kubernetes (`make
// bin/kube-apiserver-unpatched`). Without that file they are skipped, unless
// KUBE_GRANULAR_REQUIRE_UNPATCHED is set. Without it, the tests of exported policies use the patched server with
// its gates off, which behaves as upstream's.
package unpatched
