// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package included finds out which permission verbs the other verbs of a role include. For example,
// update and patch together include granular:replicas.
//
// RBAC compares verbs as text, and a user who grants or delegates permissions must hold them.
// Without this package, an administrator of a namespace who holds update, but not
// granular:replicas, could not grant granular:replicas, although update allows changing replicas.
// On a resource of Kubernetes itself, a permission verb is included in each of these:
//
//	update, patch               both on the same resource; granular:metadata needs create too
//	a more general permission   granular:labels includes granular:label(example.com)
//
// The verb readmetadata is included in get, list and watch together, on each resource, custom ones
// too: no definition changes what these verbs read.
//
// An excluded permission is included in nothing. Custom resources are not covered, because their
// definitions may exclude any permission. A permission that the resource does not have is
// included in nothing either.
//
// The invariant: a user who holds the including verbs can make every change that the permission
// verb allows, in each version of the resource.
//
// The package reads the registry of built-in permissions. It calls no authorizer and grants
// nothing.
package included
