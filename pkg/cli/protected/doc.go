// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protected reports the objects of a cluster with protected labels and annotations, so
// that an administrator sees which objects a new attribute affects before it is enforced.
//
// It reads through the API with the permissions of the caller:
//
//	protected attributes ──► protect.Set ─────────────┐
//	discovery, OpenAPI v3 ──► permission trees ───────├─► rows, one at a time
//	objects, page by page ────────────────────────────┘
//
// Labels and annotations of embedded templates count as in the server: both use the same library,
// and the tree is compiled from the schemas that the server publishes.
//
// The invariant: a report without an error covers all objects of all requested resources. If a
// resource could not be read, the report returns an error.
//
// The package writes nothing to a cluster, and has at most one page of objects in memory.
package protected
