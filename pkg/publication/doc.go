// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publication decides what a server publishes of permissions in its OpenAPI documents.
//
// Clients learn from these documents which permissions a server knows. Markers in Go types put the
// permissions into the generated definitions, whether or not the feature gate is on. So a server that
// authorizes no single fields has to leave them out.
//
// Invariant: a definition without permissions is returned as it is, and no definition is changed in
// place, because servers share definitions.
//
// The package decides nothing about requests, and knows no feature gate.
package publication
