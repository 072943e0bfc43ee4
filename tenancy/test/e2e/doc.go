// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the binary of the tenancy controller, with the permissions of its own service
// account, against the project's API server and etcd.
//
// There is no controller manager in these clusters, and so neither a garbage collector nor a
// namespace controller: permissions that are revoked in these tests are revoked by the tenancy
// controller. Every test of a request that is allowed has a twin that is refused.
package e2e
