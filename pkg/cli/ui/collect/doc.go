// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package collect gathers what the page shows: from a cluster, with the rights of the caller, or from files
// without a cluster.
//
//	cluster: discovery, lists page by page ──┐
//	files: roles, bindings, definitions ─────┴──► snapshot.Input
//
// The invariant: what the caller may not read, or what the files lack, stands in Input.Unknown. A list that
// fails is never taken for an empty one.
//
// The package writes nothing to a cluster.
package collect
