// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers runs upstream's workload controllers, built from the patched tree, in the
// process of a test.
//
// Each controller writes with a client of its own. The client acts as the service account that
// the controller has in a cluster whose controller manager runs with
// --use-service-account-credentials. All controllers read through shared informers, as in the
// controller manager. There is no kubelet, so a pod keeps its status until the test writes
// another one.
//
// The invariant: a controller writes only under its own name, so the server judges it as in a
// real cluster. The package itself writes nothing.
package controllers
