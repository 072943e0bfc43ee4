// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package included finds out which verbs of a role include a permission verb, as update and patch
// include granular:replicas.
//
// RBAC compares verbs as text. A user who grants or delegates permissions must hold them, and an
// administrator of a namespace holds update and not granular:replicas, although update allows
// changing replicas. A permission verb on a resource of Kubernetes itself is included in
//
//	update, patch               on the same resource; for granular:metadata create too
//	a more general permission   granular:labels includes granular:label(example.com)
//
// An excluded permission is included in nothing. Custom resources are not covered, because their
// definitions may exclude any permission. A permission that the resource does not have is
// included in nothing either.
//
// The invariant: a user who holds the including verbs can make every change that the permission
// verb allows, in each version of the resource.
//
// The package reads the registry of built-in permissions. It asks no authorizer and grants
// nothing.
package included
