// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protected indexes the ProtectedAttributes and ClusterProtectedAttributes that are in
// force on one server. They declare labels and annotations that only callers with a certain role or
// verb may change. The package also finds out who holds the roles that the attributes refer to.
//
//	requests, list and watch ──► a mirror of each kind ─┐
//	namespaces ── informer ─────────────────────────────┴─► Index ──► *protect.Set, behind an atomic pointer
//	bindings ── informers ────────► roles ──► Holds
//
// A Protection holds the state of one server. When a request to this server changes an attribute, the
// storage reports the change before the request is answered, so every later write is checked against
// it. The watch reports the changes of all servers, but later. Package mirror says which of them counts.
//
// An attribute of a deleted namespace has no effect in a new namespace of the same name. If it is
// unknown which of the two namespaces an attribute belongs to, the attribute has an effect: see
// ADR 0037 and ADR 0039.
//
// The roles and bindings in the cluster determine who holds a role, even if the server does not use
// RBAC as an authorizer. Upstream's code decides whether a binding includes a user.
//
// The invariant: at any time the Set has the newest state of every attribute in force that a list,
// the watch or a request reported, and nothing else. The number of attributes is not limited.
//
// The package decides no request and writes no attribute.
package protected
