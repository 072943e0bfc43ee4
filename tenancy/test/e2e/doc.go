// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the binary of the tenancy controller against the project's API server and
// etcd. The controller has only the permissions of its service account.
//
// There is no controller manager in these clusters, and so neither a garbage collector nor a
// namespace controller. So if permissions are revoked in a test, the tenancy controller revoked
// them. For each test of an allowed request, there is a test of a similar request that is refused.
package e2e
