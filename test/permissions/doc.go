// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package permissions tests the permissions of the built-in kinds. It reads them from the
// OpenAPI schema of a running server that serves every kind in every version.
//
// The invariant: every top-level field of every kind, spec and status included, has a
// permission or is listed in hack/permissions/vocabulary with a reason. The permissions of a
// field do not depend on the version of the request.
package permissions
