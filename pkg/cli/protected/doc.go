// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protected reports the objects of a cluster that carry protected labels and
// annotations, so that an administrator sees what a new attribute concerns before it is
// enforced.
//
// It reads what the caller may read, through the API and as the caller:
//
//	protected attributes ──► protect.Set ─────────────┐
//	discovery, OpenAPI v3 ──► a permission tree a kind ├─► rows, as they are found
//	objects, page by page ────────────────────────────┘
//
// The labels and annotations of embedded templates count as the server counts them: both
// use the same library, and the tree comes from the schemas that the server publishes.
//
// The invariant: a report that ends without an error looked at every object that the
// caller's cluster has of every resource asked for. What could not be read is an error.
//
// The package writes nothing to a cluster, and at no time holds more than one page of objects.
package protected
