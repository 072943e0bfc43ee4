// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unpatched runs a kube-apiserver without patches beside ours, on the same etcd,
// as a roll-out or a roll-back does, and holds what each makes of what the other stores.
//
// It needs bin/kube-apiserver-unpatched, a second build of Kubernetes (`make
// bin/kube-apiserver-unpatched`), and is skipped without, unless
// KUBE_GRANULAR_REQUIRE_UNPATCHED is set.
package unpatched
