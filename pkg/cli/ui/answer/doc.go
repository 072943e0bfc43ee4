// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package answer answers what the page asks: which requests were refused and what lifts each, which role
// grants a wish, and whether a change would be allowed.
//
//	audit log, pasted text ──► denial, remedy ──┐
//	picked fields and people ──► roles ─────────┼──► values of package model
//	YAML, patch or command ──► a Judge ─────────┘
//
// The invariant: an answer changes nothing in a cluster. A role is only shown; a change is only rehearsed.
//
// The package knows no HTTP, and starts no program: a Judge does, with a command that ParseQuestion let pass.
package answer
