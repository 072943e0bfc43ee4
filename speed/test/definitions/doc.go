// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definitions tests that the OpenAPI of all custom resource definitions shares the
// server's own types, and that the published OpenAPI is unchanged.
package definitions
