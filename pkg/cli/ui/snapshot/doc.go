// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot makes the snapshot of the page from what was collected.
//
//	kinds, or definitions and the registry ──► fields, verbs ─┐
//	roles, delegations ──────────────────────► rules, cells ──┼──► model.Snapshot
//	bindings, protected attributes ──────────► subjects ──────┘
//
// The invariant: a cell counts a right only if a rule grants it, as the authorizer RBAC of the server would
// say. What is held for some objects or parameters is never counted as held for all.
//
// The package reads nothing: neither files nor a server.
package snapshot
