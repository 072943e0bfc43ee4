// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protected indexes the ProtectedAttributes and ClusterProtectedAttributes that are in
// force on one server: labels and annotations that only callers with a certain role or verb may
// change. It also finds out who holds the roles that they refer to.
//
//	store ── hooks ──► Observe ─┐  before the request is answered
//	      ── list, watch ───────┤
//	namespaces ── informer ─────┴─► Index ──► *protect.Set, behind an atomic pointer
//	bindings ── informers ────────► roles ──► Holds
//
// A Protection holds the state of one server. Hooks of the storage report a change that this
// server makes before the request is answered, so every later write is checked against it. The
// watch reports the changes of all servers, but later. Changes of one attribute are ordered by
// resource version. Up to the version that the watch has reached, its state counts. A newer change
// that a hook reported, including a removal, stands until the watch has reached it. A list replaces
// everything up to its version, and up to the version that the watch had reached.
//
// An attribute of a deleted namespace has no effect in a new namespace of the same name. If it is
// unknown which of the two namespaces an attribute belongs to, the attribute has an effect: see
// ADR 0037 and ADR 0039.
//
// Roles and bindings determine who holds a role, even if the server does not use RBAC as an
// authorizer. Upstream's code matches their subjects.
//
// The invariant: at any time the Set has the newest state of every attribute that a list, a watch
// or a hook reported, and nothing else. The number of attributes is not limited.
//
// The package decides no request and writes no attribute.
package protected
