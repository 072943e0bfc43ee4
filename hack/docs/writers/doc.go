// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writers writes the page of the controllers that write fields for others.
//
//	overlay.IndirectWriters ──► Page ──► docs/generated/indirect-writers.md
//
// The invariant: the page has every row of the table that the server and the plugin warn by, and no other.
//
// The package decides nothing. A test of package exclusions compares the table with the schemas of all kinds.
package writers
