// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sudorules computes the rules of sudo in a namespace.
//
// RBAC has no deny rules, and "*" would include future resources, the Namespace object and all
// verbs of single fields. So the rules list the resources from discovery, without those that
// limit a tenant: namespaces, quotas, tenants, and the objects of authority. The functions are
// pure.
package sudorules
