// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rolecheck finds probable mistakes in the permission verbs of a role: misspelled
// permissions, missing or superfluous parameters, and permissions without the verb granular,
// which have no effect.
//
// A misspelled verb grants nothing, and RBAC does not report it. The server returns the findings
// as warnings when a role is written, and `kubectl granular lint` prints them.
//
// The invariant: findings never refuse a role, and a role without the verb granular or a
// permission verb is not checked.
//
// The package reads the registry of built-in permissions. It does not know custom resources, only
// that permissions without a domain are Kubernetes' own.
package rolecheck
