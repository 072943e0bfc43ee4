// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldpermission tests the kind FieldPermission against a real server: what its entries grant, what they
// close in every way to write, who may write it, and what the server tells of it.
//
// For each write that is allowed, the same write without one permission is refused.
package fieldpermission
