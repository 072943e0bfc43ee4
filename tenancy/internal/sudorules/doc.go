// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sudorules computes what sudo may do in a namespace.
//
// RBAC can't subtract, and "*" includes what is made tomorrow, the Namespace object, and
// every verb of a single field. So the rules enumerate what discovery lists, and leave
// out what keeps a tenant in its place: namespaces, quotas, tenants, and the objects of
// authority. The package is pure.
package sudorules
