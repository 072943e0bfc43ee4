// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint finds mistakes in roles, in definitions of custom resources, in protected attributes
// and in delegations, without a server.
//
//	a file ──► documents with positions ──► findings: file:line:column, error or warning
//
// Roles are compared with the registry of built-in permissions. Schemas are compiled with the
// library of the server. Expressions that compute parameters of verbs are not compiled, because
// only the server has their function library.
//
// The invariant: a finding is an error if the server rejects the object or ignores the part that
// the finding is about. It is a warning if the part is valid but probably not intended.
package lint
