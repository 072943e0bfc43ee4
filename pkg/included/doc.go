// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package included knows which verbs of a role include a permission verb, as update and patch
// include granular:replicas.
//
// RBAC compares verbs as text. Whoever grants or delegates must hold what is granted, and an
// administrator of a namespace holds update and not granular:replicas, though with update all
// replicas can be changed. A permission verb on a resource of Kubernetes itself is included in
//
//	update, patch               on the same resource; for granular:metadata create too
//	a more general permission   granular:labels includes granular:label(example.com)
//
// An excluded permission is included in nothing, a custom resource is not known here, as its
// definition may exclude any permission, and nor is a permission that the resource has not.
//
// The invariant: whoever holds what includes a permission verb can make each change that the
// verb allows, in each version of the resource, without it.
//
// The package reads the registry of built-in permissions. It asks nobody and grants nothing.
package included
