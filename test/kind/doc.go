// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind tests the patched kube-apiserver in a whole cluster: with kubelet, controller
// manager, scheduler, kube-proxy and DNS, where `make kind` has made one.
//
//	testdata/*.txtar ──► kubectl, as an administrator or as somebody with a granular role ──► the cluster
//
// What a field's permission is and which fields a change touches is tested without nodes
// (test/integration). Here stands what needs them: controllers that write beside granular callers,
// a program in a pod, an eviction.
//
// The invariant: each permission that a script needs has a twin in the same script, the request
// that one verb less does not allow.
//
// The tests are skipped, and say so, unless KUBE_GRANULAR_KIND names the folder that `make kind`
// filled. `make test-kind` sets it.
package kind
