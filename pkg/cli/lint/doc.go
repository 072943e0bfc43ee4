// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint looks for mistakes in roles and in definitions of custom resources, offline.
//
//	a file ──► documents with positions ──► findings: file:line:column, error or warning
//
// Roles are compared with the registry of built-in permissions. Schemas are compiled with the
// library, as the server does it. Parameter expressions are not compiled: their language is
// part of the server.
//
// The invariant: an error is something that the server refuses, or that can have no effect; a
// warning is something that is probably not meant.
package lint
