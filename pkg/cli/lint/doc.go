// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint finds mistakes in roles and in definitions of custom resources, offline.
//
//	a file ──► documents with positions ──► findings: file:line:column, error or warning
//
// Roles are compared with the registry of built-in permissions. Schemas are compiled with the
// same library as in the server. Parameter expressions are not compiled, because only the server
// has their function library.
//
// The invariant: an error is something that the server rejects, or that has no effect. A warning
// is something that is probably not intended.
package lint
