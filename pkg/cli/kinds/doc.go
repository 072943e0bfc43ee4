// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds knows the kinds that a server has and which permissions cover their fields.
//
//	discovery    ──► which resources there are, and which subresources take writes
//	OpenAPI v3   ──► a permission tree for each kind, and the fields with their descriptions
//
// Everything is read from the server that is asked, when it is asked for, so custom resources
// are as well known as built-in kinds. What is read stays in kubectl's own cache.
//
// The invariant: what a Field says of its permissions is what the library compiled from the
// published schema, with the same code that the server decides by.
//
// The package writes nothing, prints nothing, and knows no subject.
package kinds
