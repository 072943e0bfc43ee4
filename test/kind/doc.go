// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind tests the patched kube-apiserver in a whole cluster that `make kind` creates,
// with kubelet, controller manager, scheduler, kube-proxy and DNS.
//
//	testdata/*.txtar ──► kubectl, as an administrator or as somebody with a granular role ──► the cluster
//
// The tests of the permission of each field, and of the fields that a change touches, need no
// nodes and are in test/integration. This package tests what needs nodes: controllers that
// write beside granular callers, a program in a pod, an eviction.
//
// The invariant: for each permission that a script needs, the same script has a twin, a request
// that is refused because one verb is missing.
//
// The tests are skipped, with a message, unless KUBE_GRANULAR_KIND names the folder that `make
// kind` filled. `make test-kind` sets the variable.
package kind
