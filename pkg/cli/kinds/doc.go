// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds provides the kinds of a server and the permissions that cover their fields.
//
//	discovery    ──► the resources, and their writable subresources
//	OpenAPI v3   ──► a permission tree for each kind, and the fields with their descriptions
//
// The package reads all data from the server on demand, so custom resources work like built-in
// kinds. Discovery data is kept in kubectl's own cache.
//
// The invariant: the permissions of a Field are those that the library compiled from the
// published schema, with the same code that the server uses.
//
// The package writes nothing, prints nothing, and does not deal with subjects.
package kinds
