// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model is the snapshot that the page of kubectl granular ui shows: kinds and their fields, roles,
// bindings, subjects, delegations, protected attributes, and refused requests.
//
//	kinds ───────► fields, verbs ─┐
//	roles ───────► cells ─────────┼──► Snapshot ──► JSON, in a file or from the server of the page
//	bindings ────► subjects ──────┘
//
// A page of 50,000 bindings stays small because everything that repeats stands in a table once, and is
// named by its index. What is hard is computed here: which verbs a role holds on a kind. What is left to the
// page is to join bindings, roles and cells.
//
// The invariant: what could not be read stands in Unknown, and nothing is left out without that. So a page
// can tell "no" from "not known".
//
// The package reads nothing and knows no server.
package model
