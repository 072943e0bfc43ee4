// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers runs upstream's workload controllers, built from the patched tree, in the
// process of a test.
//
// Each has a client of its own that acts as the service account which the controller has
// in a cluster whose controller manager runs with --use-service-account-credentials. They read through
// informers that all of them share, as there. There is no kubelet: a pod stays as it was
// created until the test writes its status.
//
// The invariant: a controller writes under its own name only, so a server judges it as
// in a real cluster. The package writes nothing itself.
package controllers
