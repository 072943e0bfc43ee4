// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the tenancy controller as it is run: its binary, with the rights of
// its own service account, against the project's real API server and etcd.
//
// There is no controller manager in these clusters, and so neither a garbage collector
// nor a namespace controller: what is revoked here is revoked by the controller. Every
// test of something that is allowed has its refused twin.
package e2e
