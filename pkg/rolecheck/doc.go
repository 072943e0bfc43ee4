// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rolecheck finds verbs in the rules of a role that are not what their author meant:
// misspelled permissions, parameters that are missing or too many, and permissions without the
// verb granular, which makes them count.
//
// A verb with a mistake grants nothing, and RBAC says nothing of it. The server returns what is
// found as warnings when a role is written, and `kube-granular lint` prints it.
//
// The invariant: a role is never refused for what is found, and a role without the verb granular
// or a permission verb is not looked at.
//
// The package reads the registry of built-in permissions. It knows no custom resources: of their
// permissions it knows only that those without a domain are Kubernetes' own.
package rolecheck
