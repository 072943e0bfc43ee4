// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package permissions tests what the permissions of the built-in kinds are: on a
// running server that serves every kind in every version there is, from the schema
// it publishes.
//
// The invariant: every field of the root of every kind, spec and status included,
// is covered by a permission or listed in hack/permissions/vocabulary with its
// reason, and who may change a field does not depend on the version it is written
// in.
package permissions
