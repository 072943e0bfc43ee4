// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sudorules computes the rules of sudo: the permissions that sudoers of a tenant have in
// its namespace when they use kubectl sudo.
//
// RBAC has no deny rules, and a rule with "*" would include future resources, the Namespace object
// and all verbs of single fields. So the rules list the resources that are in discovery. With
// sudo, resources that limit a tenant can only be read: namespaces, quotas, LNamespaces, and the
// resources of the API group authority.kube-granular.dev. The functions of the package are pure.
package sudorules
