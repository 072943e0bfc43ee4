// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definitions tests that the OpenAPI documents of all custom resource definitions share
// one copy of the server's own types in memory, and that the published OpenAPI is the same as
// without sharing.
package definitions
