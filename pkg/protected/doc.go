// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protected indexes the protected attributes that are in force on one server, and finds
// out who holds the roles that they refer to.
//
//	store ── hooks ──► Observe ─┐  before the request is answered
//	      ── list, watch ───────┤
//	namespaces ── informer ─────┴─► Index ──► *protect.Set, behind an atomic pointer
//	bindings ── informers ────────► roles ──► Holds
//
// A Protection holds the state of one server. Storage hooks report the changes that this server
// makes before they are acknowledged, so every later write is checked against them. The watch
// reports the changes of all servers, later. Changes of one attribute are ordered by resource
// version. Up to the version that the watch has reached, the watch is authoritative. A later
// change that a hook reported, including a removal, stands until the watch has reached it. A list
// replaces everything up to the version that the watch had reached.
//
// An attribute of a deleted namespace has no effect in a new namespace of the same name. If it is
// unknown which of the two it belongs to, it has an effect: see ADR 0037 and ADR 0039.
//
// Who holds a role is determined by RBAC's objects, whatever authorizers are configured.
// Upstream's code matches subjects.
//
// The invariant: at any time the Set has the newest state of every attribute that a list, a watch
// or a hook reported, and nothing else. The number of attributes is not limited.
//
// The package decides no request and writes no attribute.
package protected
